/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi CALLS PASSES: on one rank, calls of MPI that wait for nobody; prints for each pass the ns per call of MPI_Allreduce
   on MPI_COMM_SELF, of MPI_Sendrecv to itself, and of MPI_Comm_rank.                                                     */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PLAIN __attribute__((no_instrument_function))

static PLAIN double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

PLAIN int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    long calls = argc > 1 ? atol(argv[1]) : 100000, passes = argc > 2 ? atol(argv[2]) : 1;
    double x = 1, y = 0;
    int rank;
    for (long p = 0; p < passes; p++) {
        double t0 = now();
        for (long i = 0; i < calls; i++) MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
        double t1 = now();
        for (long i = 0; i < calls; i++)
            MPI_Sendrecv(&x, 1, MPI_DOUBLE, 0, 7, &y, 1, MPI_DOUBLE, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        double t2 = now();
        for (long i = 0; i < calls; i++) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        double t3 = now();
        printf("%.3f %.3f %.3f\n", (t1 - t0) / (double)calls, (t2 - t1) / (double)calls, (t3 - t2) / (double)calls);
    }
    MPI_Finalize();
    return 0;
}
