/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_comms CALLS PASSES: on one rank. Prints for each pass the ns of an MPI_Comm_dup with its MPI_Comm_free. */
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
    const long calls = argc > 1 ? atol(argv[1]) : 2000, passes = argc > 2 ? atol(argv[2]) : 1;
    for (long p = 0; p < passes; p++) {
        const double begin = now();
        for (long i = 0; i < calls; i++) {
            MPI_Comm comm;
            MPI_Comm_dup(MPI_COMM_SELF, &comm);
            MPI_Comm_free(&comm);
        }
        printf("%.2f\n", (now() - begin) / (double)calls);
    }
    MPI_Finalize();
    return 0;
}
