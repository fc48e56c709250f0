/* SPDX-License-Identifier: BSD-3-Clause */
/* Three threads of each of four ranks make inter-communicators between two halves at once, with the same tag, each
   thread by its own duplicate of MPI_COMM_WORLD, 40 times. In every second turn the thread does so again, between the
   halves of the merged communicator. Each rank sends one message to its partner in each inter-communicator; its tag is
   the number of the inter-communicator. */
#include <mpi.h>
#include "program.h"

#define THREADS 3
#define TURNS 40

static MPI_Comm duplicates[THREADS];

static void send(MPI_Comm inter, int tag)
{
    int own, x = tag, y;
    MPI_Comm_rank(inter, &own);
    MPI_Sendrecv(&x, 1, MPI_INT, own, tag, &y, 1, MPI_INT, own, tag, inter, MPI_STATUS_IGNORE);
}

/* An inter-communicator between the lower and the upper half of comm's four ranks. */
static MPI_Comm between_halves(MPI_Comm comm)
{
    MPI_Comm half, inter;
    int rank;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_split(comm, rank / 2, rank, &half);
    MPI_Intercomm_create(half, 0, comm, rank < 2 ? 2 : 0, 99, &inter);
    MPI_Comm_free(&half);
    return inter;
}

static void *turns(void *arg)
{
    const int thread = (int)(intptr_t)arg;
    int rank;
    MPI_Comm_rank(duplicates[thread], &rank);
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Comm inter = between_halves(duplicates[thread]), merged, deeper;
        send(inter, 2 * (thread * TURNS + turn));
        if (turn % 2) {
            MPI_Intercomm_merge(inter, rank < 2, &merged);
            deeper = between_halves(merged);
            send(deeper, 2 * (thread * TURNS + turn) + 1);
            MPI_Comm_free(&deeper);
            MPI_Comm_free(&merged);
        }
        MPI_Comm_free(&inter);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &duplicates[i]);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, turns, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) MPI_Comm_free(&duplicates[i]);
    MPI_Finalize();
    return 0;
}
