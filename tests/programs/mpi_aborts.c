/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ranks exchange messages. Then one calls MPI_Abort, or with an argument both end without MPI_Finalize, after both
   have received all messages, since a launcher may kill the other rank then. */
#include <mpi.h>
#include "program.h"

static void meet(int rank)
{
    const char *const names[] = {"got0", "got1"};
    close(open(names[rank], O_CREAT | O_WRONLY, 0666));
    while (access(names[1 - rank], F_OK)) usleep(1000);
}

QUIET static void on_timer(int number)
{
    (void)number;
    close(open("waits", O_CREAT | O_WRONLY, 0666));
}

/* Reports when this process has used another 100 ms of CPU, which MPI_Recv does while it waits. */
QUIET static void will_wait(void)
{
    struct itimerval later = {{0, 0}, {0, 100000}};
    signal(SIGPROF, on_timer);
    setitimer(ITIMER_PROF, &later, NULL);
}

int main(int argc, char **argv)
{
    int rank, in;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++)
        MPI_Sendrecv(&i, 1, MPI_INT, 1 - rank, i, &in, 1, MPI_INT, 1 - rank, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (argc > 1) {
        meet(rank);
        _Exit(0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) will_wait();
    for (int i = 0; rank && access("waits", F_OK) && i < 10000; i++) usleep(1000);
    if (rank == 0) MPI_Recv(&in, 1, MPI_INT, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Abort(MPI_COMM_WORLD, 3);
    return 0;
}
