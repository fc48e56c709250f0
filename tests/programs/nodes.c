/* SPDX-License-Identifier: BSD-3-Clause */
/* nodes ROUNDS [HOW]: ROUNDS times a message around the ring of ranks, 5 calls of work, and MPI_Allreduce. HOW:
   clocks   in each round each rank writes the true time before and after a call of timed to its file marks.RANK
   wait     then each rank prints "ready", and waits for a file "go" in its directory
   RANK     then rank RANK receives a message from each other rank and kills itself; the others wait in MPI_Barrier */
#define _GNU_SOURCE
#include <mpi.h>
#include "program.h"

static volatile long sink;

KEEP void work(void) { sink++; }

KEEP void timed(void) { sink++; }

QUIET static void die(int size)
{
    for (int i = 1, in; i < size; i++) MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    raise(SIGKILL);
}

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
    char name[32];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(name, sizeof name, "marks.%d", rank);
    FILE *marks = strcmp(how, "clocks") ? NULL : fopen(name, "w");
    for (int round = 0; round < atoi(argv[1]); round++) {
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, round, &in, 1, MPI_INT, (rank + size - 1) % size, round,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 5; i++) work();
        if (marks) {
            const long long before = now();
            timed();
            const long long after = now();
            fprintf(marks, "%lld %lld\n", before, after);
            usleep(20000); /* clocks that drift differ at the end */
        }
        MPI_Allreduce(&in, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        sum += all;
    }
    if (!strcmp(how, "wait")) {
        printf("ready\n");
        fflush(stdout);
        while (access("go", F_OK)) usleep(10000);
    }
    if (*how >= '0' && *how <= '9') {
        if (rank == atoi(how)) die(size);
        MPI_Send(&rank, 1, MPI_INT, atoi(how), 0, MPI_COMM_WORLD);
    }
    if (marks) fclose(marks);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!rank) printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
