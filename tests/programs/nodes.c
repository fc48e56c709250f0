/* SPDX-License-Identifier: BSD-3-Clause */
/* nodes ROUNDS [HOW]: ROUNDS times a message around the ring of ranks, 5 calls of work, and MPI_Allreduce. HOW:
   clocks   in each round each rank prints the true time before and after a call of timed
   wait     then all ranks print "ready", and wait until they are killed
   RANK     then rank RANK is killed, and the others wait for it in MPI_Barrier */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "keep.h"

static volatile long sink;

KEEP void work(void) { sink++; }

KEEP void timed(void) { sink++; }

/* A preloaded clock does not change the result. */
QUIET static long long now(void)
{
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC_RAW, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int main(int argc, char **argv)
{
    int rank, size, in = 0, all = 0, sum = 0;
    const char *how = argc > 2 ? argv[2] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < atoi(argv[1]); round++) {
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, round, &in, 1, MPI_INT, (rank + size - 1) % size, round,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 5; i++) work();
        if (!strcmp(how, "clocks")) {
            const long long before = now();
            timed();
            printf("%d %lld %lld\n", rank, before, now());
        }
        MPI_Allreduce(&in, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        sum += all;
    }
    if (!strcmp(how, "wait")) {
        printf("ready\n");
        fflush(stdout);
        for (;;) pause();
    }
    if (*how && atoi(how) == rank && *how != 'c') raise(SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!rank) printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
