/* SPDX-License-Identifier: BSD-3-Clause */
/* Every collective operation of MPI-1 and 2 once with root 1, all counts different, then those that can in place. */
#include <mpi.h>
#include <stddef.h>

#define W MPI_COMM_WORLD
#define MOST 8

static int rank, size, one[MOST * MOST * MOST], two[MOST * MOST * MOST];
static int counts[MOST], places[MOST], same[MOST], steps[MOST];
static MPI_Datatype types[MOST];

static void apart(void)
{
    MPI_Barrier(W);
    MPI_Bcast(one, 3, MPI_INT, 1, W);
    MPI_Gather(one, 2, MPI_INT, two, 2, MPI_INT, 1, W);
    MPI_Gatherv(one, rank + 1, MPI_INT, two, counts, places, MPI_INT, 1, W);
    MPI_Scatter(one, 5, MPI_INT, two, 5, MPI_INT, 1, W);
    MPI_Scatterv(one, counts, places, MPI_INT, two, rank + 1, MPI_INT, 1, W);
    MPI_Allgather(one, 7, MPI_CHAR, two, 7, MPI_CHAR, W);
    MPI_Allgatherv(one, rank + 1, MPI_INT, two, counts, places, MPI_INT, W);
    MPI_Alltoall(one, 3, MPI_INT, two, 3, MPI_INT, W);
    MPI_Alltoallv(one, same, places, MPI_INT, two, same, places, MPI_INT, W);
    MPI_Alltoallw(one, same, steps, types, two, same, steps, types, W);
    MPI_Allreduce(one, two, 4, MPI_DOUBLE, MPI_SUM, W);
    MPI_Reduce(one, two, 6, MPI_INT, MPI_SUM, 1, W);
    MPI_Reduce_scatter(one, two, counts, MPI_INT, MPI_SUM, W);
    MPI_Scan(one, two, 2, MPI_INT, MPI_SUM, W);
    MPI_Exscan(one, two, 3, MPI_INT, MPI_SUM, W);
    MPI_Reduce_scatter_block(one, two, 2, MPI_INT, MPI_SUM, W);
}

static void in_place(void)
{
    const int root = rank == 1;
    MPI_Gather(root ? MPI_IN_PLACE : one, 2, MPI_INT, two, 2, MPI_INT, 1, W);
    MPI_Gatherv(root ? MPI_IN_PLACE : one, rank + 1, MPI_INT, two, counts, places, MPI_INT, 1, W);
    MPI_Scatter(one, 5, MPI_INT, root ? MPI_IN_PLACE : two, 5, MPI_INT, 1, W);
    MPI_Scatterv(one, counts, places, MPI_INT, root ? MPI_IN_PLACE : two, rank + 1, MPI_INT, 1, W);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, two, 7, MPI_CHAR, W);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, two, counts, places, MPI_INT, W);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, two, 3, MPI_INT, W);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, two, same, places, MPI_INT, W);
    MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, two, same, steps, types, W);
    MPI_Allreduce(MPI_IN_PLACE, two, 4, MPI_DOUBLE, MPI_SUM, W);
    MPI_Reduce(root ? MPI_IN_PLACE : two, two, 6, MPI_INT, MPI_SUM, 1, W);
    MPI_Reduce_scatter(MPI_IN_PLACE, two, counts, MPI_INT, MPI_SUM, W);
    MPI_Scan(MPI_IN_PLACE, two, 2, MPI_INT, MPI_SUM, W);
    MPI_Exscan(MPI_IN_PLACE, two, 3, MPI_INT, MPI_SUM, W);
    MPI_Reduce_scatter_block(MPI_IN_PLACE, two, 2, MPI_INT, MPI_SUM, W);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &size);
    for (int i = 0; i < size; i++) {
        counts[i] = i + 1;
        places[i] = i * MOST;
        same[i] = 2;
        steps[i] = 8 * i;
        /* what goes between two ranks has the type of the lower one */
        types[i] = (i < rank ? i : rank) % 2 ? MPI_INT : MPI_SHORT;
    }
    apart();
    in_place();
    MPI_Finalize();
    return 0;
}
