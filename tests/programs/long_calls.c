/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of MPI_Barrier and read at two places each: short ones at the first, long ones at the second. An argument: is killed. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static void meet(int rank)
{
    MPI_Barrier(MPI_COMM_WORLD); /* short */
    if (rank) usleep(30000);
    if (MPI_Barrier(MPI_COMM_WORLD)) abort(); /* line 12: rank 0 waits for 30 ms */
}

__attribute__((noinline)) static void take(int rank)
{
    int ends[2];
    char letter = 0;
    if (rank || pipe(ends)) return;
    if (write(ends[1], "ab", 2) != 2 || read(ends[0], &letter, 1) != 1) abort(); /* short */
    if (read(ends[0], &letter, 1) != 1) abort();
    if (!fork()) {
        usleep(30000);
        _exit(write(ends[1], "c", 1) != 1);
    }
    if (read(ends[0], &letter, 1) != 1) abort(); /* line 26: waits for the child */
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++) meet(rank);
    take(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 1) raise(SIGKILL);
    MPI_Finalize();
    return 0;
}
