/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks_threads CALLS [PIPE MODE], under MPI: each rank has 3 threads at the same time, the main thread and 2 more.
   main 1 -> work CALLS + rank; each other thread: body 1 -> work CALLS + 10 * its number. Rank 0 opens the named PIPE,
   and waits until another job opens it in the other MODE: 0 (to read), 1 (to write). */
#include <mpi.h>
#include "program.h"

static volatile long sink;
static long calls;
static pthread_barrier_t meeting, turn[2];

KEEP void work(long i) { sink = i; }

KEEP void *body(void *number)
{
    for (long i = 0; i < calls + 10 * (long)number; i++) work(i);
    pthread_barrier_wait(&turn[(long)number - 1]);
    pthread_barrier_wait(&meeting);
    return 0;
}

int main(int argc, char **argv)
{
    int provided, rank;
    pthread_t threads[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    calls = argc > 1 ? atol(argv[1]) : 10;
    pthread_barrier_init(&meeting, 0, 3);
    for (long i = 1; i <= 2; i++) { /* the first thread has its first event before the second begins */
        pthread_barrier_init(&turn[i - 1], 0, 2);
        pthread_create(&threads[i - 1], 0, body, (void *)i);
        pthread_barrier_wait(&turn[i - 1]);
    }
    for (long i = 0; i < calls + rank; i++) work(i);
    pthread_barrier_wait(&meeting);
    if (argc > 3 && rank == 0) close(open(argv[2], atoi(argv[3])));
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    MPI_Finalize();
    return 0;
}
