/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that fail while errors are returned. The output of rank 1 must not depend on tracing. */
#include <mpi.h>
#include <stdio.h>

#define W MPI_COMM_WORLD

static int rank, in[8], out[8];

static void say(const char *what, int result)
{
    int class;
    MPI_Error_class(result, &class);
    if (rank == 1) printf("%s %d\n", what, class);
}

/* Two messages; the first is longer than the receive buffer of rank 1. */
static void two(MPI_Request *r)
{
    if (rank == 1) {
        MPI_Irecv(in, 1, MPI_INT, 0, 1, W, &r[0]);
        MPI_Irecv(in + 1, 1, MPI_INT, 0, 2, W, &r[1]);
    }
    MPI_Barrier(W);
    if (rank == 0) {
        MPI_Send(out, 8, MPI_INT, 1, 1, W);
        MPI_Send(out, 1, MPI_INT, 1, 2, W);
    }
    MPI_Barrier(W);
}

static void left(const char *what, MPI_Request *r)
{
    for (int i = 0; i < 2; i++) {
        printf("%s %d %s\n", what, i, r[i] == MPI_REQUEST_NULL ? "gone" : "left");
        if (r[i] != MPI_REQUEST_NULL) MPI_Wait(&r[i], MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    MPI_Request r[2];
    MPI_Status status, statuses[2];
    MPI_Comm none = MPI_COMM_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (rank == 0) MPI_Send(out, 8, MPI_INT, 1, 0, W);
    if (rank == 1) say("recv", MPI_Recv(in, 1, MPI_INT, 0, 0, W, MPI_STATUS_IGNORE));
    two(r);
    if (rank == 1) {
        say("wait", MPI_Wait(&r[0], MPI_STATUS_IGNORE));
        say("wait", MPI_Wait(&r[1], &status));
        left("wait", r);
    }
    two(r);
    if (rank == 1) {
        say("waitall", MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
        left("waitall", r);
    }
    two(r);
    if (rank == 1) {
        say("waitall statuses", MPI_Waitall(2, r, statuses));
        left("waitall statuses", r);
    }
    say("peer", MPI_Send(out, 1, MPI_INT, 17, 3, W));
    say("peer", MPI_Isend(out, 1, MPI_INT, 17, 3, W, &r[0]));
    say("count", MPI_Send(out, -1, MPI_INT, 0, 3, W));
    say("type", MPI_Send(out, 1, MPI_DATATYPE_NULL, 0, 3, W));
    say("root", MPI_Bcast(out, 1, MPI_INT, 9, W));
    say("comm", MPI_Barrier(none));
    say("comm", MPI_Comm_dup(none, &none));
    say("comm", MPI_Comm_free(&none));
    r[0] = MPI_REQUEST_NULL;
    say("request", MPI_Start(&r[0]));
    MPI_Barrier(W);
    MPI_Finalize();
    return 0;
}
