/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi CALLS PASSES: on one rank, calls of MPI that wait for nobody; prints for each pass the ns per call of MPI_Allreduce
   on MPI_COMM_SELF, of MPI_Sendrecv to itself, of MPI_Comm_rank, of MPI_Put to itself, per put of the MPI_Win_unlock that
   completes them, and of MPI_File_write_at of no bytes, which needs no system call.                                      */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PLAIN __attribute__((no_instrument_function))

static PLAIN double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
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
        const double times[] = {t1 - t0, t2 - t1, t3 - t2, t5 - t4, t6 - t5, t7 - t6};
        for (int i = 0; i < 6; i++) printf("%.3f%c", times[i] / (double)calls, i < 5 ? ' ' : '\n');
    }
    MPI_File_close(&file);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
