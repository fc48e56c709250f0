/* SPDX-License-Identifier: BSD-3-Clause */
/* sampled_grid MS: ranks in a grid of two columns. Each rank has two threads. The main thread of rank r is in busy for
   (r + 1) * MS of CPU time and in quick for MS, the other thread in busy for MS; then they meet at a barrier. */
#include <mpi.h>
#include "program.h"

static double cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static volatile int which;

__attribute__((noinline)) static void busy(double ms)
{
    which = 'b';
    for (double end = cpu() + ms; cpu() < end;)
        for (volatile int i = 0; i < 200000; i++) continue;
}

__attribute__((noinline)) static void quick(double ms)
{
    which = 'q';
    for (double end = cpu() + ms; cpu() < end;)
        for (volatile int i = 0; i < 200000; i++) continue;
}

static pthread_barrier_t end;

static void *other(void *ms)
{
    busy(*(double *)ms);
    pthread_barrier_wait(&end);
    return NULL;
}

int main(int argc, char **argv)
{
    int rank, size, periodic[2] = {0, 0}, lengths[2] = {0, 2};
    double ms = argc > 1 ? atof(argv[1]) : 50;
    pthread_t thread;
    MPI_Comm grid;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    lengths[0] = size / 2;
    MPI_Cart_create(MPI_COMM_WORLD, 2, lengths, periodic, 0, &grid);
    pthread_barrier_init(&end, NULL, 2);
    pthread_create(&thread, NULL, other, &ms);
    busy((rank + 1) * ms);
    quick(ms);
    pthread_barrier_wait(&end);
    pthread_join(thread, NULL);
    MPI_Barrier(grid);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return 0;
}
