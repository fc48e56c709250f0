/* SPDX-License-Identifier: BSD-3-Clause */
/* ring_mpi ROUNDS: main 1 -> ROUNDS times: a message to the next rank and one from the previous rank, both active while
   work runs on rank 0, MPI_Allreduce, MPI_Ibarrier. */
#include <mpi.h>
#include "program.h"

static volatile long sink;

KEEP void work(void) { sink++; }

int main(int argc, char **argv)
{
    int rank, size, in, out = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (long round = 0; round < atol(argv[argc - 1]); round++) {
        MPI_Request requests[3];
        MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&out, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
        for (int i = 0; i < 5 && !rank; i++) work();
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
