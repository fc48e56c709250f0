/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_turns [serialized]: threads of two ranks communicate, each on its own communicator, concurrently or in turns. One
   thread starts an operation and another thread waits for it. */
#include <mpi.h>
#include "program.h"

#define THREADS 3
#define ROUNDS 20

static int rank, serialized, turn;
static MPI_Comm comms[THREADS];
static MPI_Request requests[THREADS][3 * ROUNDS];
static int out[THREADS][ROUNDS], in[THREADS][3 * ROUNDS];
static pthread_barrier_t all_have_begun;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t next = PTHREAD_COND_INITIALIZER;

/* Both ranks use the same order of turns: a collective operation waits for its partner. */
static void begin(int mine)
{
    if (!serialized) return;
    pthread_mutex_lock(&lock);
    while (turn != mine) pthread_cond_wait(&next, &lock);
    pthread_mutex_unlock(&lock);
}

static void end(void)
{
    if (!serialized) return;
    pthread_mutex_lock(&lock);
    turn++;
    pthread_cond_broadcast(&next);
    pthread_mutex_unlock(&lock);
}

static void *work(void *argument)
{
    const int me = (int)(intptr_t)argument, other = (me + 1) % THREADS;
    for (int i = 0; i < ROUNDS; i++) {
        int sum, one = 1;
        MPI_Request *r = &requests[me][3 * i];
        begin(i * THREADS + me);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[me]);
        out[me][i] = 100 * me + i;
        MPI_Irecv(&in[me][3 * i], 1, MPI_INT, !rank, me, MPI_COMM_WORLD, &r[0]);
        MPI_Isend(&out[me][i], 1, MPI_INT, !rank, me, MPI_COMM_WORLD, &r[1]);
        MPI_Iallreduce(&out[me][i], &in[me][3 * i + 1], 1, MPI_INT, MPI_SUM, comms[me], &r[2]);
        end();
        if (sum != 2) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    pthread_barrier_wait(&all_have_begun);
    begin(ROUNDS * THREADS + me);
    MPI_Waitall(3 * ROUNDS, requests[other], MPI_STATUSES_IGNORE);
    end();
    for (int i = 0; i < ROUNDS; i++)
        if (in[other][3 * i] != 100 * other + i || in[other][3 * i + 1] != 2 * (100 * other + i))
            MPI_Abort(MPI_COMM_WORLD, 2);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int provided;
    serialized = argc > 1 && !strcmp(argv[1], "serialized");
    MPI_Init_thread(&argc, &argv, serialized ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE, &provided);
    if (provided < (serialized ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE)) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    pthread_barrier_init(&all_have_begun, NULL, THREADS);
    for (intptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) MPI_Comm_free(&comms[i]);
    MPI_Finalize();
    return 0;
}
