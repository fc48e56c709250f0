/* SPDX-License-Identifier: BSD-3-Clause */
/* sections_mpi: two threads in each rank, with overlapping sections that contain calls of MPI, and parts of them. The
   main thread's section round/N has N + 1 calls of MPI, over/1 begins in round/N and ends after it; rank 0 alone has
   once/1. The other thread has section team/1 five times, with a call of MPI each. */
#include <mpi.h>
#include <vt_user.h>
#include "program.h"

static void spend(int us)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

static void *team(void *unused)
{
    int flag;
    for (int i = 0; i < 5; i++) {
        VT_SECTION_START("team", 1, 0);
        spend(100);
        MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        VT_SECTION_STOP("team", 1, 0);
    }
    return unused;
}

static void rounds(int rank)
{
    for (int number = 0; number < 3; number++) {
        VT_SECTION_START("round", number, 0);
        spend(50 * (rank + 1));
        for (int i = 0; i < number; i++) MPI_Barrier(MPI_COMM_WORLD);
        VT_SECTION_START("over", 1, 0);
        MPI_Allreduce(MPI_IN_PLACE, &rank, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        VT_SECTION_STOP("round", number, 0);
        spend(50);
        VT_SECTION_STOP("over", 1, 0);
    }
}

int main(int argc, char **argv)
{
    int rank, level;
    pthread_t other;
    VT_SECTION_START("program", 0, 0);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pthread_create(&other, 0, team, 0);
    if (rank == 0) VT_SECTION_START("once", 1, 0);
    rounds(rank);
    if (rank == 0) VT_SECTION_STOP("once", 1, 0);
    pthread_join(other, 0);
    VT_SECTION_START("unfinished", 1, 0);
    MPI_Finalize();
    VT_SECTION_STOP("program", 0, 0);
    return 0;
}
