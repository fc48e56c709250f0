/* SPDX-License-Identifier: BSD-3-Clause */
/* For archives of other tools, under MPI: 5 times an int around a ring, even ranks send first, and MPI_Allreduce. */
#include <mpi.h>

enum { ROUNDS = 5, TAG = 7 };

int main(int argc, char **argv)
{
    int rank, size, from, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < ROUNDS; i++) {
        if (rank % 2 == 0) MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, TAG, MPI_COMM_WORLD);
        MPI_Recv(&from, 1, MPI_INT, (rank + size - 1) % size, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank % 2) MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, TAG, MPI_COMM_WORLD);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
