/* SPDX-License-Identifier: BSD-3-Clause */
/* dies, under MPI: main 1 -> work 20 + rank on each rank. After a barrier rank 1 kills itself; the others wait. */
#include <mpi.h>
#include "program.h"

static volatile int sink;

KEEP void work(int i) { sink += i; }

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 20 + rank; i++) work(i);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) kill(getpid(), SIGKILL);
    for (;;) pause();
    return 0;
}
