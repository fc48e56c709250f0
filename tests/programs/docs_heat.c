/* SPDX-License-Identifier: BSD-3-Clause */
/* A program like those in docs/: 110 iterations in 1.3 s, with a message and a barrier in each. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static int residual(int step) { return step % 7; }

static void iterate(int step, int rank, int size)
{
    int sent = residual(step), got = 0;
    usleep(12000);
    MPI_Sendrecv(&sent, 1, MPI_INT, (rank + 1) % size, 1, &got, 1, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 0; step < 110; step++) iterate(step, rank, size);
    if (!rank) {
        FILE *file = fopen("field", "w");
        if (file) fclose(file);
    }
    MPI_Finalize();
    return 0;
}
