/* SPDX-License-Identifier: BSD-3-Clause */
/* TURNS times step, which works for 0.2 ms and meets all ranks in MPI_Barrier; before turn LATE rank 0 sleeps MS ms in
   its step. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void work(void)
{
    for (const double end = cpu() + 0.0002; cpu() < end;) {}
}

__attribute__((noinline)) static void step(int ms)
{
    work();
    if (ms) usleep((useconds_t)ms * 1000);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank;
    if (argc < 4) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < atoi(argv[1]); i++) step(i == atoi(argv[2]) && !rank ? atoi(argv[3]) : 0);
    MPI_Finalize();
    return 0;
}
