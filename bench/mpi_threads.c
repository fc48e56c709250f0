/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_threads CALLS PASSES: on one rank under MPI_THREAD_MULTIPLE, 2 threads call MPI concurrently. Prints for each
   pass the ns per call of MPI_Allreduce, with one communicator for each thread, and of MPI_Comm_rank. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PLAIN __attribute__((no_instrument_function))
#define THREADS 2

static long calls = 4000, passes = 1;
static MPI_Comm comms[THREADS];
static pthread_barrier_t together;

static PLAIN double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static PLAIN void *work(void *argument)
{
    const MPI_Comm comm = *(MPI_Comm *)argument;
    double x = 1, y = 0;
    int rank;
    for (long p = 0; p < passes; p++) {
        pthread_barrier_wait(&together);
        double t0 = now();
        for (long i = 0; i < calls; i++) MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, comm);
        double t1 = now();
        pthread_barrier_wait(&together);
        double t2 = now();
        for (long i = 0; i < calls; i++) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        double t3 = now();
        if (argument == comms) printf("%.3f %.3f\n", (t1 - t0) / (double)calls, (t3 - t2) / (double)calls);
    }
    return NULL;
}

PLAIN int main(int argc, char **argv)
{
    pthread_t other;
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE) return 1;
    if (argc > 1) calls = atol(argv[1]);
    if (argc > 2) passes = atol(argv[2]);
    for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
    pthread_barrier_init(&together, NULL, THREADS);
    pthread_create(&other, NULL, work, &comms[1]);
    work(&comms[0]);
    pthread_join(other, NULL);
    MPI_Finalize();
    return 0;
}
