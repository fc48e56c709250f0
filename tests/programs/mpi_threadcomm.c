/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator of MPICH whose ranks are threads, two in each process: each sends to the next one, waits for all, and
   adds the values. Prints the sum of each thread. */
#include <mpi.h>
#include "program.h"

#define THREADS 2

static MPI_Comm threads;

static void *work(void *unused)
{
    int rank, size, got = -1, sum = 0;
    MPI_Request requests[2];
    MPIX_Threadcomm_start(threads);
    MPI_Comm_rank(threads, &rank);
    MPI_Comm_size(threads, &size);
    MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 7, threads, &requests[0]);
    MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 7, threads, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(threads);
    MPI_Allreduce(&got, &sum, 1, MPI_INT, MPI_SUM, threads);
    printf("sum %d of %d\n", sum, size);
    MPIX_Threadcomm_finish(threads);
    return unused;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t ids[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPIX_Threadcomm_init(MPI_COMM_WORLD, THREADS, &threads);
    for (int i = 0; i < THREADS; i++) pthread_create(&ids[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(ids[i], NULL);
    MPIX_Threadcomm_free(&threads);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
