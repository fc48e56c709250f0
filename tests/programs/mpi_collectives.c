/* SPDX-License-Identifier: BSD-3-Clause */
/* Each collective operation with root 1 and different counts. Then the operations that exist in place, between groups,
   and among neighbours. -DNONBLOCKING: each starts and is completed at once; -DPERSISTENT: all are started and
   completed together, ROUNDS times. Prints "none" if the MPI has no such functions. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

#define W MPI_COMM_WORLD
#define MOST 8
#define WORDS (MOST * MOST * MOST)
#define CALLS 80

#if defined PERSISTENT && MPI_VERSION < 4 && (!defined OMPI_MAJOR_VERSION || OMPI_MAJOR_VERSION < 5)
#define NONE
#endif

#if defined MPICH_NUMVERSION && MPICH_NUMVERSION < 40100000
/* In these versions the second start of a scatter fails. Neighbor_alltoallw reads beyond its copies of the types if the
   numbers of sources and destinations differ. */
#define OLD_MPICH
#define ROUNDS 1
#else
#define ROUNDS 2
#endif

static int rank, size, one[WORDS], results[CALLS][WORDS], n;
static int counts[MOST], places[MOST], same[MOST], steps[MOST];
static MPI_Datatype types[MOST];
static MPI_Request requests[CALLS];

/* Each operation has its own memory. */
#define TWO (results[n])
#ifdef NONBLOCKING
#define DO(Name, name, ...) (MPI_I##name(__VA_ARGS__, &requests[n]), MPI_Wait(&requests[n++], MPI_STATUS_IGNORE))
#elif defined PERSISTENT
#define DO(Name, name, ...) (MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &requests[n]), n++)
#else
#define DO(Name, name, ...) (MPI_##Name(__VA_ARGS__), n++)
#endif

#ifndef NONE
static void apart(void)
{
    DO(Barrier, barrier, W);
    DO(Bcast, bcast, TWO, 3, MPI_INT, 1, W);
    DO(Gather, gather, one, 2, MPI_INT, TWO, 2, MPI_INT, 1, W);
    DO(Gatherv, gatherv, one, rank + 1, MPI_INT, TWO, counts, places, MPI_INT, 1, W);
    DO(Scatter, scatter, one, 5, MPI_INT, TWO, 5, MPI_INT, 1, W);
    DO(Scatterv, scatterv, one, counts, places, MPI_INT, TWO, rank + 1, MPI_INT, 1, W);
    DO(Allgather, allgather, one, 7, MPI_CHAR, TWO, 7, MPI_CHAR, W);
    DO(Allgatherv, allgatherv, one, rank + 1, MPI_INT, TWO, counts, places, MPI_INT, W);
    DO(Alltoall, alltoall, one, 3, MPI_INT, TWO, 3, MPI_INT, W);
    DO(Alltoallv, alltoallv, one, same, places, MPI_INT, TWO, same, places, MPI_INT, W);
    DO(Alltoallw, alltoallw, one, same, steps, types, TWO, same, steps, types, W);
    DO(Allreduce, allreduce, one, TWO, 4, MPI_DOUBLE, MPI_SUM, W);
    DO(Reduce, reduce, one, TWO, 6, MPI_INT, MPI_SUM, 1, W);
    DO(Reduce_scatter, reduce_scatter, one, TWO, counts, MPI_INT, MPI_SUM, W);
    DO(Scan, scan, one, TWO, 2, MPI_INT, MPI_SUM, W);
    DO(Exscan, exscan, one, TWO, 3, MPI_INT, MPI_SUM, W);
    DO(Reduce_scatter_block, reduce_scatter_block, one, TWO, 2, MPI_INT, MPI_SUM, W);
}

static void in_place(void)
{
    const int root = rank == 1;
    DO(Gather, gather, root ? MPI_IN_PLACE : one, 2, MPI_INT, TWO, 2, MPI_INT, 1, W);
    DO(Gatherv, gatherv, root ? MPI_IN_PLACE : one, rank + 1, MPI_INT, TWO, counts, places, MPI_INT, 1, W);
    DO(Scatter, scatter, one, 5, MPI_INT, root ? MPI_IN_PLACE : TWO, 5, MPI_INT, 1, W);
    DO(Scatterv, scatterv, one, counts, places, MPI_INT, root ? MPI_IN_PLACE : TWO, rank + 1, MPI_INT, 1, W);
    DO(Allgather, allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, TWO, 7, MPI_CHAR, W);
    DO(Allgatherv, allgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, TWO, counts, places, MPI_INT, W);
    DO(Alltoall, alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, TWO, 3, MPI_INT, W);
    DO(Alltoallv, alltoallv, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, TWO, same, places, MPI_INT, W);
    DO(Alltoallw, alltoallw, MPI_IN_PLACE, NULL, NULL, NULL, TWO, same, steps, types, W);
    DO(Allreduce, allreduce, MPI_IN_PLACE, TWO, 4, MPI_DOUBLE, MPI_SUM, W);
    DO(Reduce, reduce, root ? MPI_IN_PLACE : TWO, TWO, 6, MPI_INT, MPI_SUM, 1, W);
    DO(Reduce_scatter, reduce_scatter, MPI_IN_PLACE, TWO, counts, MPI_INT, MPI_SUM, W);
    DO(Scan, scan, MPI_IN_PLACE, TWO, 2, MPI_INT, MPI_SUM, W);
    DO(Exscan, exscan, MPI_IN_PLACE, TWO, 3, MPI_INT, MPI_SUM, W);
    DO(Reduce_scatter_block, reduce_scatter_block, MPI_IN_PLACE, TWO, 2, MPI_INT, MPI_SUM, W);
}

/* Rank 0 and all others; the root is the last rank. */
static void between(MPI_Comm across)
{
    const int root = rank == 0 ? size - 2 : rank == size - 1 ? MPI_ROOT : MPI_PROC_NULL;
    DO(Barrier, barrier, across);
    DO(Bcast, bcast, TWO, 3, MPI_INT, root, across);
    DO(Gather, gather, one, 2, MPI_INT, TWO, 2, MPI_INT, root, across);
    DO(Scatterv, scatterv, one, same, places, MPI_INT, TWO, 2, MPI_INT, root, across);
    DO(Reduce, reduce, one, TWO, 6, MPI_INT, MPI_SUM, root, across);
    DO(Allgather, allgather, one, 1, MPI_INT, TWO, 1, MPI_INT, across);
    DO(Alltoallv, alltoallv, one, same, places, MPI_INT, TWO, same, places, MPI_INT, across);
    DO(Allreduce, allreduce, one, TWO, 4, MPI_DOUBLE, MPI_SUM, across);
}

static void near(MPI_Comm comm)
{
    static MPI_Aint bytes[MOST];
    static MPI_Datatype shorts[MOST];
    for (int i = 0; i < MOST; i++) {
        bytes[i] = 8 * i;
        shorts[i] = MPI_SHORT;
    }
    DO(Neighbor_allgather, neighbor_allgather, one, 3, MPI_INT, TWO, 3, MPI_INT, comm);
    DO(Neighbor_allgatherv, neighbor_allgatherv, one, 2, MPI_INT, TWO, same, places, MPI_INT, comm);
    DO(Neighbor_alltoall, neighbor_alltoall, one, 5, MPI_CHAR, TWO, 5, MPI_CHAR, comm);
    DO(Neighbor_alltoallv, neighbor_alltoallv, one, same, places, MPI_INT, TWO, same, places, MPI_INT, comm);
#ifdef OLD_MPICH
    int kind;
    MPI_Topo_test(comm, &kind);
    if (kind == MPI_DIST_GRAPH) return;
#endif
    DO(Neighbor_alltoallw, neighbor_alltoallw, one, same, bytes, shorts, TWO, same, bytes, shorts, comm);
}

static void start_all(void)
{
#ifdef PERSISTENT
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Startall(n, requests);
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < n; i++) MPI_Request_free(&requests[i]);
    n = 0;
#endif
}

static void all(void)
{
    MPI_Comm others, across, line, ring, up;
    const int periodic = 0;
    int index[MOST], edges[2 * MOST], lower[MOST], higher[MOST];
    for (int i = 0; i < size; i++) {
        counts[i] = i + 1;
        places[i] = i * MOST;
        same[i] = 2;
        steps[i] = 8 * i;
        /* data between two ranks have the type of the lower one */
        types[i] = (i < rank ? i : rank) % 2 ? MPI_INT : MPI_SHORT;
        lower[i] = i;
        higher[i] = rank + 1 + i;
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + size - 1) % size;
        edges[2 * i + 1] = (i + 1) % size;
    }
    apart();
    in_place();
    start_all();
    MPI_Comm_split(W, rank > 0, rank, &others);
    MPI_Intercomm_create(others, 0, W, !rank, 9, &across);
    between(across);
    MPI_Cart_create(W, 1, &size, &periodic, 0, &line);
    near(line);
    MPI_Graph_create(W, size, index, edges, 0, &ring);
    near(ring);
    /* from all lower ranks, to all higher ones */
    MPI_Dist_graph_create_adjacent(W, rank, lower, MPI_UNWEIGHTED, size - 1 - rank, higher, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &up);
    near(up);
    start_all();
}
#endif

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &size);
#ifdef NONE
    if (rank == 0) puts("none");
#else
    all();
#endif
    MPI_Finalize();
    return 0;
}
