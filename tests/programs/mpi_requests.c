/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of all kinds, completed in all ways, from rank 0 to rank 1; each part has its own tags. */
#include <mpi.h>
#include "program.h"

#define W MPI_COMM_WORLD
#define MANY 3000

static int rank, out[MANY], in[MANY];

/* n messages with tags from..from+n-1; the receiver reports when its receives are posted. */
static void post(int n, int from, MPI_Request *r)
{
    int (*send[])(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) = {MPI_Isend, MPI_Ibsend,
                                                                                      MPI_Issend, MPI_Irsend};
    for (int i = 0; i < n; i++) r[i] = MPI_REQUEST_NULL;
    if (rank == 1) {
        for (int i = 0; i < n; i++) MPI_Irecv(&in[i], 1, MPI_INT, 0, i % 2 ? MPI_ANY_TAG : from + i, W, &r[i]);
        MPI_Send(out, 0, MPI_INT, 0, from, W);
    } else if (rank == 0) {
        MPI_Recv(in, 0, MPI_INT, 1, from, W, MPI_STATUS_IGNORE);
        for (int i = 0; i < n; i++) send[i % 4](&out[i], 1, MPI_INT, 1, from + i, W, &r[i]);
    }
}

/* Keeps the number of unsuccessful tests small. */
static void rest(void) { usleep(2000); }

static void completed(void)
{
    MPI_Request r[4];
    MPI_Status status, statuses[4];
    int flag = 0, index, n, indices[4];
    post(4, 100, r);
    for (int i = 0; i < 4; i++) MPI_Wait(&r[i], i % 2 ? &status : MPI_STATUS_IGNORE);
    post(4, 110, r);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    post(4, 120, r);
    MPI_Waitall(4, r, statuses);
    post(4, 130, r);
    do MPI_Waitany(4, r, &index, MPI_STATUS_IGNORE);
    while (index != MPI_UNDEFINED);
    post(4, 140, r);
    do MPI_Waitsome(4, r, &n, indices, MPI_STATUSES_IGNORE);
    while (n != MPI_UNDEFINED);
    post(4, 150, r);
    for (int i = 0; i < 4; i++)
        for (flag = 0; !flag; rest()) MPI_Test(&r[i], &flag, MPI_STATUS_IGNORE);
    post(4, 160, r);
    for (flag = 0; !flag; rest()) MPI_Testall(4, r, &flag, MPI_STATUSES_IGNORE);
    post(4, 170, r);
    do {
        MPI_Testany(4, r, &index, &flag, &status);
        rest();
    } while (!flag || index != MPI_UNDEFINED);
    post(4, 180, r);
    do {
        MPI_Testsome(4, r, &n, indices, statuses);
        rest();
    } while (n != MPI_UNDEFINED);
}

/* A receive that cannot complete before the test has returned. */
static void pending(void)
{
    MPI_Request r;
    int flag;
    if (rank == 1) {
        MPI_Irecv(in, 1, MPI_INT, 0, 200, W, &r);
        MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
        MPI_Testall(1, &r, &flag, MPI_STATUSES_IGNORE);
        MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE);
        MPI_Send(out, 0, MPI_INT, 0, 201, W);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    } else if (rank == 0) {
        MPI_Recv(in, 0, MPI_INT, 1, 201, W, MPI_STATUS_IGNORE);
        MPI_Send(out, 1, MPI_INT, 1, 200, W);
    }
}

static void persistent(void)
{
    MPI_Request r[4];
    if (rank > 1) return;
    if (rank == 0) {
        MPI_Send_init(out, 1, MPI_INT, 1, 300, W, &r[0]);
        MPI_Bsend_init(out, 2, MPI_INT, 1, 301, W, &r[1]);
        MPI_Ssend_init(out, 3, MPI_INT, 1, 302, W, &r[2]);
        MPI_Rsend_init(out, 1, MPI_INT, MPI_PROC_NULL, 303, W, &r[3]);
    } else {
        for (int i = 0; i < 3; i++) MPI_Recv_init(&in[4 * i], 4, MPI_INT, 0, 300 + i, W, &r[i]);
        MPI_Recv_init(in, 1, MPI_INT, MPI_PROC_NULL, 303, W, &r[3]);
    }
    for (int round = 0; round < 3; round++) {
        MPI_Startall(3, r);
        MPI_Start(&r[3]);
        MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
        MPI_Wait(&r[0], MPI_STATUS_IGNORE); /* not started: returns at once */
    }
    for (int i = 0; i < 4; i++) MPI_Request_free(&r[i]);
}

static void cancelled(void)
{
    MPI_Request r;
    MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, 400, W, &r);
    MPI_Cancel(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Recv_init(in, 1, MPI_INT, MPI_ANY_SOURCE, 401, W, &r);
    MPI_Start(&r);
    MPI_Cancel(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Request_free(&r);
}

static void freed(void)
{
    MPI_Request r;
    if (rank == 0) {
        MPI_Isend(out, 1, MPI_INT, 1, 500, W, &r);
        MPI_Request_free(&r);
        MPI_Recv(in, 0, MPI_INT, 1, 501, W, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(in, 1, MPI_INT, 0, 500, W, MPI_STATUS_IGNORE);
        MPI_Send(out, 0, MPI_INT, 0, 501, W);
    }
}

static void many(void)
{
    MPI_Request *r = malloc(MANY * sizeof *r);
    MPI_Status *s = malloc(MANY * sizeof *s);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            if (rank == 1) MPI_Irecv(&in[i], 1, MPI_INT, 0, 1000 + i, W, &r[i]);
            else if (rank == 0) MPI_Isend(&out[i], 1, MPI_INT, 1, 1000 + i, W, &r[i]);
            else r[i] = MPI_REQUEST_NULL;
        }
        MPI_Waitall(MANY, r, round ? s : MPI_STATUSES_IGNORE);
    }
    free(r);
    free(s);
}

int main(int argc, char **argv)
{
    int bytes = 1 << 16;
    void *buffer = malloc((size_t)bytes);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    MPI_Buffer_attach(buffer, bytes);
    completed();
    pending();
    persistent();
    cancelled();
    freed();
    many();
    MPI_Barrier(W);
    MPI_Buffer_detach(&buffer, &bytes);
    free(buffer);
    MPI_Finalize();
    return 0;
}
