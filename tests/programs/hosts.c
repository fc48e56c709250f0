// SPDX-License-Identifier: BSD-3-Clause
// hosts CALLS ROUNDS: in each round two threads of a rank call work, CALLS times on rank 0, CALLS / 10 elsewhere.
// Then the main threads send messages around a ring; a send with a wrong count fails; then Allreduce, Scan and a fence.
#include <mpi.h>
#include <omp.h>
#include "program.h"

static volatile long sink;

KEEP void work(long i) { sink = i; }

int main(int argc, char **argv)
{
    int rank, size, level, sum = 0, failed = 0, cell = 0;
    MPI_Win win;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Win_create(&cell, sizeof cell, sizeof cell, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    const long calls = atol(argv[1]) / (rank ? 10 : 1), rounds = atol(argv[2]);
    for (int i = 0; i < rounds; i++) {
        const int next = (rank + 1) % size, last = (rank + size - 1) % size;
        int got = 0, all;
        MPI_Request refused = MPI_REQUEST_NULL;
#pragma omp parallel num_threads(2)
        for (long k = 0; k < calls; k++) work(k);
        failed += MPI_Isend(&i, -1, MPI_INT, next, 7, MPI_COMM_WORLD, &refused) != MPI_SUCCESS;
        if (rank) MPI_Recv(&got, 1, MPI_INT, last, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        got++;
        MPI_Send(&got, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
        if (!rank) MPI_Recv(&got, 1, MPI_INT, last, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&got, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        sum += all;
        MPI_Scan(&got, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Put(&i, 1, MPI_INT, next, 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
    }
    MPI_Win_free(&win);
    if (!rank) printf("sum %d failed %d\n", sum, failed);
    MPI_Finalize();
    return 0;
}
