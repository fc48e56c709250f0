/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_rma_threads: threads of two ranks put into the other rank's memory on one window at the same time. Each flushes
   its own first puts. The main thread completes the last ones for all threads, at the end of the epoch. Then each
   thread writes and reads its own part of a file. */
#include <mpi.h>
#include "program.h"

#define THREADS 3
#define ROUNDS 50
#define LAST 5

static int rank, failures[THREADS];
static MPI_Win win;
static MPI_File file;
static pthread_barrier_t all_alive;

static void *work(void *argument)
{
    const int me = (int)(intptr_t)argument;
    long value = me, old = -1;
    char text[8] = {0};
    pthread_barrier_wait(&all_alive);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Put(&value, 1, MPI_LONG, !rank, me, 1, MPI_LONG, win);
        MPI_Win_flush(!rank, win);
        MPI_Fetch_and_op(&value, &old, MPI_LONG, !rank, THREADS + me, MPI_SUM, win);
        MPI_Win_flush_local(!rank, win);
        failures[me] |= old != (long)me * i;
    }
    for (int i = 0; i < LAST; i++) MPI_Put(&value, 1, MPI_LONG, !rank, me, 1, MPI_LONG, win);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_File_write_at(file, 8 * (THREADS * rank + me), "abcdefgh", me + 1, MPI_CHAR, MPI_STATUS_IGNORE);
        MPI_File_read_at(file, 8 * (THREADS * rank + me), text, me + 1, MPI_CHAR, MPI_STATUS_IGNORE);
        failures[me] |= text[me] != 'a' + me || text[me + 1];
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    long *memory;
    int provided, failed = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(2 * THREADS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int i = 0; i < 2 * THREADS; i++) memory[i] = 0;
    MPI_File_open(MPI_COMM_WORLD, "parts", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    pthread_barrier_init(&all_alive, NULL, THREADS);
    for (intptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    MPI_Win_unlock_all(win);
    MPI_File_close(&file);
    MPI_Win_free(&win);
    MPI_Finalize();
    for (int i = 0; i < THREADS; i++) failed |= failures[i];
    return failed;
}
