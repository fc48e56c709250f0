/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the clock offsets of all nodes ROUNDS times. Prints the milliseconds of each round, for the slowest rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include "vt_user.h"

int main(int argc, char **argv)
{
    int rank;
    const int rounds = argc > 1 ? atoi(argv[1]) : 5;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < rounds; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double took = MPI_Wtime(), longest = 0;
        VT_TIMESYNC();
        took = MPI_Wtime() - took;
        MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (!rank) printf("%.4f\n", longest * 1e3);
    }
    MPI_Finalize();
    return 0;
}
