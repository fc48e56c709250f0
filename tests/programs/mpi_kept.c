/* SPDX-License-Identifier: BSD-3-Clause */
/* TURNS times turn, in which rank r calls tiny 20 * (r + 1) times, and all ranks meet in MPI_Barrier. In every EVERY-th one
   another rank sleeps 20 ms before. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
#include "keep.h"

static volatile long sum;

KEEP static void tiny(void) { sum++; }

KEEP static void step(int rank, int sleeps)
{
    for (int i = 0; i < 20 * (rank + 1); i++) tiny();
    if (sleeps) usleep(20000);
}

KEEP static void turn(int rank, int sleeps)
{
    step(rank, sleeps);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, size;
    if (argc < 3) return 2;
    const int turns = atoi(argv[1]), every = atoi(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 1; i <= turns; i++) turn(rank, i % every == 0 && i / every % size == rank);
    MPI_Finalize();
    return 0;
}
