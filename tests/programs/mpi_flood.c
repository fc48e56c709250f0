/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_flood ROUNDS CALLS: main 1 -> round ROUNDS -> work CALLS, then MPI_Sendrecv with the next and the previous rank,
   a write to /dev/null, and malloc with free. */
#include <mpi.h>
#include "program.h"

static volatile long sink;
static int rank, ranks, null;

KEEP void work(long i) { sink += i; }

KEEP void round_trip(long calls)
{
    int out = rank, in = -1;
    void *volatile block = malloc(100);
    for (long i = 0; i < calls; i++) work(i);
    MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % ranks, 7, &in, 1, MPI_INT, (rank + ranks - 1) % ranks, 7,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (in != (rank + ranks - 1) % ranks) MPI_Abort(MPI_COMM_WORLD, 1);
    if (write(null, &in, sizeof in) != sizeof in) MPI_Abort(MPI_COMM_WORLD, 2);
    free(block);
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 10, calls = argc > 2 ? atol(argv[2]) : 10;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    null = open("/dev/null", O_WRONLY);
    for (long i = 0; i < rounds; i++) round_trip(calls);
    MPI_Finalize();
    return 0;
}
