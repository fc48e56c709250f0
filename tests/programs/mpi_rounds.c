/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_rounds CALLS ROUNDS: main 1 -> ROUNDS times: work CALLS on rank 0, CALLS / 10 on others; MPI_Barrier. */
#include <mpi.h>
#include "program.h"

static volatile long sink;

KEEP void work(long i) { sink = i; }

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long calls = atol(argv[1]) / (rank ? 10 : 1), rounds = atol(argv[2]);
    for (long round = 0; round < rounds; round++) {
        for (long i = 0; i < calls; i++) work(i);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
