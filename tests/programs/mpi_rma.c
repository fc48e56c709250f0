/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_rma: each kind of one-sided communication on three ranks; rank r uses the memory of the next rank. The program
   fails if that memory has wrong values. */
#include <mpi.h>
#include "program.h"

static int rank, size, right, left, failures;
static long x = 7, y, result[4], values[4] = {1, 2, 3, 4};

static void want(int holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "rank %d: wrong result of %s\n", rank, what);
    failures++;
}

static void rest(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

/* Fences: puts and gets of 8 to 32 bytes, and two accumulations; nothing for MPI_PROC_NULL. */
static void fences(MPI_Win win, volatile long *memory)
{
    MPI_Win_fence(0, win);
    for (int i = 0; i < 4; i++) MPI_Put(values, i + 1, MPI_LONG, right, 0, i + 1, MPI_LONG, win);
    MPI_Put(values, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    want(memory[3] == 4, "MPI_Put");
    MPI_Get(result, 2, MPI_LONG, right, 2, 2, MPI_LONG, win);
    MPI_Accumulate(values, 2, MPI_LONG, right, 8, 2, MPI_LONG, MPI_SUM, win);
    MPI_Accumulate(values, 2, MPI_LONG, left, 8, 2, MPI_LONG, MPI_SUM, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    want(result[1] == 4 && memory[9] == 4, "MPI_Get or MPI_Accumulate");
}

/* Locks of one target and of all, with flushes in between. */
static void locks(MPI_Win win)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
    MPI_Put(&x, 1, MPI_LONG, right, 4, 1, MPI_LONG, win);
    MPI_Win_flush_local(right, win);
    MPI_Put(&x, 1, MPI_LONG, right, 5, 1, MPI_LONG, win);
    MPI_Win_flush(right, win);
    MPI_Get(&y, 1, MPI_LONG, right, 5, 1, MPI_LONG, win);
    MPI_Win_unlock(right, win);
    want(y == 7, "MPI_Get under a lock");
    MPI_Win_lock_all(0, win);
    MPI_Put(values, 2, MPI_LONG, right, 6, 2, MPI_LONG, win);
    MPI_Get(result, 3, MPI_LONG, left, 0, 3, MPI_LONG, win);
    MPI_Win_flush_local_all(win);
    MPI_Win_flush_all(win);
    MPI_Put(&x, 1, MPI_LONG, left, 15, 1, MPI_LONG, win);
    MPI_Win_sync(win);
    MPI_Win_unlock_all(win);
}

static void atomics(MPI_Win win)
{
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
    MPI_Get_accumulate(values, 2, MPI_LONG, result, 2, MPI_LONG, right, 10, 2, MPI_LONG, MPI_MAX, win);
    MPI_Get_accumulate(NULL, 0, MPI_LONG, result, 3, MPI_LONG, right, 10, 3, MPI_LONG, MPI_NO_OP, win);
    MPI_Fetch_and_op(&x, &y, MPI_LONG, right, 13, MPI_SUM, win);
    MPI_Fetch_and_op(&x, &y, MPI_LONG, right, 13, MPI_REPLACE, win);
    MPI_Win_flush_local(right, win); /* the data of gets have arrived, so the gets are complete at both ends */
    MPI_Compare_and_swap(&x, &y, result, MPI_LONG, right, 14, win);
    MPI_Win_unlock(right, win);
}

/* Requests completed one by one, all together, by tests, and after the synchronization. */
static void requests(MPI_Win win)
{
    MPI_Request request[4];
    MPI_Status status[4];
    int done = 0;
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
    MPI_Rput(values, 3, MPI_LONG, right, 0, 3, MPI_LONG, win, &request[0]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Rget(result, 3, MPI_LONG, right, 0, 3, MPI_LONG, win, &request[0]);
    while (!done) {
        rest();
        MPI_Test(&request[0], &done, MPI_STATUS_IGNORE);
    }
    MPI_Rput(values, 1, MPI_LONG, right, 3, 1, MPI_LONG, win, &request[0]);
    MPI_Raccumulate(values, 2, MPI_LONG, right, 8, 2, MPI_LONG, MPI_SUM, win, &request[1]);
    MPI_Rget_accumulate(values, 1, MPI_LONG, result, 1, MPI_LONG, right, 10, 1, MPI_LONG, MPI_SUM, win, &request[2]);
    MPI_Rput(values, 1, MPI_LONG, MPI_PROC_NULL, 3, 1, MPI_LONG, win, &request[3]);
    MPI_Waitall(4, request, status);
    MPI_Rput(values, 4, MPI_LONG, right, 4, 4, MPI_LONG, win, &request[0]);
    MPI_Win_flush(right, win);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Win_unlock(right, win);
}

/* Post, start, complete, wait: twice with the same groups, once with MPI_Win_test. */
static void groups(MPI_Win win)
{
    MPI_Group all, origin, target;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &left, &origin);
    MPI_Group_incl(all, 1, &right, &target);
    for (int i = 0; i < 2; i++) {
        int done = 0;
        MPI_Win_post(origin, 0, win);
        MPI_Win_start(target, 0, win);
        MPI_Put(values, 1 + i, MPI_LONG, right, 0, 1 + i, MPI_LONG, win);
        MPI_Win_complete(win);
        if (i == 0) MPI_Win_wait(win);
        else
            while (!done) {
                rest();
                MPI_Win_test(win, &done);
            }
    }
    MPI_Group_free(&all);
    MPI_Group_free(&origin);
    MPI_Group_free(&target);
}

/* Other functions that create a window; on a communicator of its own, and many of them. */
static void windows(void)
{
    MPI_Win win;
    MPI_Comm twin;
    MPI_Aint at, bytes;
    int unit;
    long *memory, more[4] = {0};
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Win_allocate_shared(64, sizeof(long), MPI_INFO_NULL, twin, &memory, &win);
    MPI_Win_set_name(win, "shared");
    MPI_Win_shared_query(win, 0, &bytes, &unit, &memory);
    MPI_Win_fence(0, win);
    MPI_Put(&x, 1, MPI_LONG, right, 0, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, more, sizeof more);
    MPI_Get_address(more, &at);
    MPI_Sendrecv_replace(&at, 1, MPI_AINT, left, 1, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
    MPI_Put(&x, 1, MPI_LONG, right, at, 1, MPI_LONG, win);
    MPI_Win_unlock(right, win);
    MPI_Barrier(MPI_COMM_WORLD);
    want(more[0] == 7, "MPI_Put into a dynamic window");
    MPI_Win_detach(win, more);
    MPI_Win_free(&win);
    for (int i = 0; i < 4; i++) {
        MPI_Win_create(more, sizeof more, sizeof(long), MPI_INFO_NULL, i % 2 ? twin : MPI_COMM_WORLD, &win);
        MPI_Win_fence(0, win);
        MPI_Put(&x, 1, MPI_LONG, right, 0, 1, MPI_LONG, win);
        MPI_Win_fence(0, win);
        MPI_Win_free(&win);
    }
    MPI_Comm_free(&twin);
}

int main(int argc, char **argv)
{
    MPI_Win win;
    long *memory;
    int many = argc > 1 ? atoi(argv[1]) : 100;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    MPI_Win_allocate(16 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_name(win, "main");
    for (int i = 0; i < 16; i++) memory[i] = 0;
    fences(win, memory);
    MPI_Barrier(MPI_COMM_WORLD);
    locks(win);
    atomics(win);
    requests(win);
    groups(win);
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
    for (int i = 0; i < many; i++) MPI_Put(values, 1, MPI_LONG, right, 0, 1, MPI_LONG, win);
    MPI_Win_unlock(right, win);
    MPI_Win_free(&win);
    windows();
    MPI_Finalize();
    return failures;
}
