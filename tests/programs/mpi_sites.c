/* SPDX-License-Identifier: BSD-3-Clause */
/* Call sites: each line with a comment "site: NAME" makes MPI calls; tests look the lines up by NAME.

   turns T    each rank passes T messages around; then a library's call, a recursion of depth 3, a tail call, two threads */
#include <mpi.h>
#include "program.h"

int library_sum(int mine);

static int rank, size, turns;

#define OWN __attribute__((noinline, noclone))

OWN static void pass(int turn)
{
    MPI_Request requests[2];
    char out[64] = {0}, in[64];
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Irecv(in, 64, MPI_CHAR, left, turn, MPI_COMM_WORLD, &requests[0]);    /* site: irecv */
    MPI_Isend(out, 64, MPI_CHAR, right, turn, MPI_COMM_WORLD, &requests[1]);  /* site: isend */
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);                            /* site: waitall */
}

OWN static int down(int depth)
{
    int deeper = 0;
    if (depth > 0) deeper = down(depth - 1);     /* site: deeper */
    else MPI_Barrier(MPI_COMM_WORLD);            /* site: bottom */
    return deeper + depth;
}

/* With -O2 a jump: the call site is then in the caller of this function. */
OWN static int tail(void)
{
    return MPI_Barrier(MPI_COMM_SELF); /* site: tail */
}

static void *work(void *tag)
{
    int mine = rank, theirs;
    int right = (rank + 1) % size, left = (rank + size - 1) % size, number = *(int *)tag;
    MPI_Sendrecv(&mine, 1, MPI_INT, right, number, &theirs, 1, MPI_INT, left, number, MPI_COMM_WORLD, /* site: thread */
                 MPI_STATUS_IGNORE);
    return NULL;
}

OWN static void twice(void)
{
    int value = 0;
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD); /* site: first */
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD); /* site: second */
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    int provided, tags[2] = {1001, 1002};
    turns = argc > 1 ? atoi(argv[1]) : 5;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < turns; i++) pass(i); /* site: turns */
    twice();                                 /* site: twice */
    int sum = library_sum(rank);             /* site: sum */
    int levels = down(3);                    /* site: top */
    int done = tail();                       /* site: tails */
    if (provided == MPI_THREAD_MULTIPLE) {
        for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, &tags[i]);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    }
    if (rank == 0) printf("sum %d levels %d done %d\n", sum, levels, done);
    MPI_Finalize();
    return 0;
}
