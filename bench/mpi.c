/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi CALLS PASSES: on one rank, MPI calls that wait for no other rank. Prints for each pass the ns per call of:
   MPI_Allreduce on MPI_COMM_SELF; MPI_Sendrecv to itself; MPI_Comm_rank; MPI_Put to itself; MPI_Win_unlock, per put
   that it completes; MPI_File_write_at of 0 bytes, which needs no system call; a message to itself, among MPI_Irecv and
   MPI_Isend calls with one MPI_Waitall; MPI_Put with the MPI_Win_flush that completes it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PLAIN __attribute__((no_instrument_function))
#define WINDOW 64

static PLAIN double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* CALLS messages to itself, WINDOW of them active at once. */
static PLAIN void windows(long calls)
{
    MPI_Request requests[2 * WINDOW];
    double sent[WINDOW] = {0}, received[WINDOW];
    for (long i = 0; i < calls; i += WINDOW) {
        for (int k = 0; k < WINDOW; k++) MPI_Irecv(&received[k], 1, MPI_DOUBLE, 0, 7, MPI_COMM_SELF, &requests[k]);
        for (int k = 0; k < WINDOW; k++) MPI_Isend(&sent[k], 1, MPI_DOUBLE, 0, 7, MPI_COMM_SELF, &requests[WINDOW + k]);
        MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
    }
}

static PLAIN void flushed_puts(long calls, MPI_Win win)
{
    double x = 1;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    for (long i = 0; i < calls; i++) {
        MPI_Put(&x, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win);
        MPI_Win_flush(0, win);
    }
    MPI_Win_unlock(0, win);
}

PLAIN int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    long calls = argc > 1 ? atol(argv[1]) : 100000, passes = argc > 2 ? atol(argv[2]) : 1;
    double x = 1, y = 0, *memory;
    int rank;
    MPI_Win win;
    MPI_File file;
    MPI_Win_allocate(sizeof x, 1, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &win);
    MPI_File_open(MPI_COMM_SELF, "mpi_written", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    for (long p = 0; p < passes; p++) {
        double t0 = now();
        for (long i = 0; i < calls; i++) MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
        double t1 = now();
        for (long i = 0; i < calls; i++)
            MPI_Sendrecv(&x, 1, MPI_DOUBLE, 0, 7, &y, 1, MPI_DOUBLE, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        double t2 = now();
        for (long i = 0; i < calls; i++) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        double t3 = now();
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        double t4 = now();
        for (long i = 0; i < calls; i++) MPI_Put(&x, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win);
        double t5 = now();
        MPI_Win_unlock(0, win);
        double t6 = now();
        for (long i = 0; i < calls; i++) MPI_File_write_at(file, 0, &x, 0, MPI_DOUBLE, MPI_STATUS_IGNORE);
        double t7 = now();
        windows(calls);
        double t8 = now();
        flushed_puts(calls, win);
        double t9 = now();
        const double times[] = {t1 - t0, t2 - t1, t3 - t2, t5 - t4, t6 - t5, t7 - t6, t8 - t7, t9 - t8};
        for (int i = 0; i < 8; i++) printf("%.3f%c", times[i] / (double)calls, i < 7 ? ' ' : '\n');
    }
    MPI_File_close(&file);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
