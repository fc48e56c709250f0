/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of two ranks exchange messages, each pair with a tag of its own; requests start on one thread and end on
   another. */
#include <mpi.h>
#include "program.h"

#define THREADS 4
#define ROUNDS 200

static int rank;
static MPI_Request last[THREADS];
static int late[THREADS];
static pthread_barrier_t all_alive;

static void *work(void *argument)
{
    const int tag = (int)(intptr_t)argument, peer = !rank;
    int in[2], out[2] = {rank, tag};
    pthread_barrier_wait(&all_alive);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request r[2];
        MPI_Irecv(in, 2, MPI_INT, peer, tag, MPI_COMM_WORLD, &r[0]);
        MPI_Isend(out, 2, MPI_INT, peer, tag, MPI_COMM_WORLD, &r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        if (in[1] != tag) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Irecv(&late[tag], 1, MPI_INT, peer, 100 + tag, MPI_COMM_WORLD, &last[tag]);
    return NULL;
}

/* Waits for a request that the other thread cancels. */
static void *listen(void *argument)
{
    MPI_Wait(argument, MPI_STATUS_IGNORE);
    return NULL;
}

int main(int argc, char **argv)
{
    MPI_Request cancelled;
    pthread_t threads[THREADS];
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pthread_barrier_init(&all_alive, NULL, THREADS);
    for (intptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) MPI_Send(&i, 1, MPI_INT, !rank, 100 + i, MPI_COMM_WORLD);
    MPI_Waitall(THREADS, last, MPI_STATUSES_IGNORE);
    MPI_Irecv(late, 1, MPI_INT, MPI_ANY_SOURCE, 200, MPI_COMM_WORLD, &cancelled);
    pthread_create(&threads[0], NULL, listen, &cancelled);
    usleep(100000);
    MPI_Cancel(&cancelled);
    pthread_join(threads[0], NULL);
    MPI_Finalize();
    return 0;
}
