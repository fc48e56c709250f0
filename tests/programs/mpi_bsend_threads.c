/* SPDX-License-Identifier: BSD-3-Clause */
/* Four threads of rank 0 start persistent buffered sends, four of rank 1 persistent receives: first on one
   communicator, then each pair of threads on its own. Open MPI gives a buffered send another request each time. */
#include <mpi.h>
#include "program.h"

#define N 4096
#define ROUNDS 8
#define THREADS 4

static int rank;
static MPI_Comm comms[2 * THREADS];

static void *work(void *argument)
{
    const int id = *(const int *)argument;
    MPI_Request request;
    int *data = calloc(N, sizeof *data);
    for (int part = 0; part < 2; part++) {
        MPI_Comm comm = comms[part * THREADS + id];
        if (rank == 0) MPI_Bsend_init(data, N, MPI_INT, 1, id, comm, &request);
        else MPI_Recv_init(data, N, MPI_INT, 0, id, comm, &request);
        for (int i = 0; i < ROUNDS; i++) {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&request);
    }
    free(data);
    return NULL;
}

int main(int argc, char **argv)
{
    const int room = 2 * THREADS * ROUNDS * (N * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
    int provided, bytes, ids[THREADS];
    void *buffer = malloc((size_t)room);
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < THREADS; i++) {
        comms[i] = MPI_COMM_WORLD;
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[THREADS + i]);
    }
    if (rank == 0) MPI_Buffer_attach(buffer, room);
    for (int i = 0; i < THREADS; i++) {
        ids[i] = i;
        pthread_create(&threads[i], NULL, work, &ids[i]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    if (rank == 0) MPI_Buffer_detach(&buffer, &bytes);
    for (int i = 0; i < THREADS; i++) MPI_Comm_free(&comms[THREADS + i]);
    free(buffer);
    MPI_Finalize();
    return 0;
}
