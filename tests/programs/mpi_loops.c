/* SPDX-License-Identifier: BSD-3-Clause */
/* Overlapping communicators, created and freed in a loop; each rank has its own order. Argument: rounds. In each round:
   the pairs of neighbours in the ring, by MPI_Comm_create_group, a split into halves that change, and a duplicate of a
   half. On each one a ring message. */
#include <mpi.h>
#include <stdlib.h>

static int rank, size;

static void ring(MPI_Comm comm)
{
    int me, n, in;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % n, 5, &in, 1, MPI_INT, (me + n - 1) % n, 5, comm, MPI_STATUS_IGNORE);
}

/* The pair of a rank and the next one; the later members come in another order. */
static void pair(int first)
{
    const int both[] = {first, (first + 1) % size};
    MPI_Group all, two;
    MPI_Comm comm;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 2, both, &two);
    MPI_Comm_create_group(MPI_COMM_WORLD, two, first, &comm);
    ring(comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&two);
    MPI_Group_free(&all);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    for (int round = 0; round < rounds; round++) {
        int own = rank, before = (rank + size - 1) % size;
        /* Even ranks begin with their own pair, odd ranks with the pair of the previous rank: the same pair. */
        pair(rank % 2 ? before : own);
        pair(rank % 2 ? own : before);
        MPI_Comm half, twin;
        MPI_Comm_split(MPI_COMM_WORLD, (rank + round) / 2 % 2, -rank, &half);
        ring(half);
        MPI_Comm_dup(half, &twin);
        MPI_Comm_free(&half);
        ring(twin);
        MPI_Comm_free(&twin);
    }
    MPI_Finalize();
    return 0;
}
