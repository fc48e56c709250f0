/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_polls CALLS PASSES: on one rank. Prints for each pass the ns of an MPI_Iprobe and of an MPI_Test that find
   nothing. */
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
    int flag, value, sent = 0;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    const long calls = argc > 1 ? atol(argv[1]) : 2000, passes = argc > 2 ? atol(argv[2]) : 1;
    MPI_Irecv(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    for (long p = 0; p < passes; p++) {
        double begin = now();
        for (long i = 0; i < calls; i++) MPI_Iprobe(0, 2, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        printf("%.2f\n", (now() - begin) / (double)calls);
        begin = now();
        for (long i = 0; i < calls; i++) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        printf("%.2f\n", (now() - begin) / (double)calls);
    }
    MPI_Send(&sent, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
