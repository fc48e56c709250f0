/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ranks with a planted loss: "imbalance" (rank 1 works longer), "pipeline" (rank 1 works when rank 0 is done) or
   "writer" (rank 0 does I/O alone). Rank 0 prints the ns that both ranks wait, as the program measures it. */
#include <mpi.h>
#include "program.h"

static int rank;
static double waited;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

void work(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, 0);
}

static int ends[2];

static void *later(void *none)
{
    work(300);
    if (write(ends[1], "", 1) != 1) perror("write");
    return none;
}

void write_out(void)
{
    pthread_t thread;
    char byte;
    if (pipe(ends) || pthread_create(&thread, 0, later, 0)) return;
    if (read(ends[0], &byte, 1) != 1) perror("read"); /* stands for a slow disk */
    pthread_join(thread, 0);
}

static void meet(void)
{
    double own = now(), last, mine;
    MPI_Allreduce(&own, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    mine = last - own;
    waited += mine;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(what, "imbalance")) {
        work(rank ? 500 : 100);
        meet();
    } else if (!strcmp(what, "pipeline")) {
        double begin = now(), sent = 0;
        if (!rank) work(300);
        if (!rank) sent = now();
        if (rank) MPI_Recv(&sent, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else MPI_Send(&sent, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        if (rank) waited += sent - begin;
        if (rank) work(300);
        meet();
    } else {
        if (!rank) write_out();
        meet();
    }
    double all;
    MPI_Reduce(&waited, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!rank) printf("%.0f\n", all);
    MPI_Finalize();
    return 0;
}
