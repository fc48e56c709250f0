/* SPDX-License-Identifier: BSD-3-Clause */
/* Each call that sends or receives, with a tag of its own, from rank 0 to rank 1. */
#include <mpi.h>
#include "program.h"

#define W MPI_COMM_WORLD

static int rank, out[64], in[64];

static void blocking(void)
{
    MPI_Status status;
    MPI_Datatype pairs;
    void *buffer = malloc(4096);
    int bytes = 4096;
    MPI_Type_vector(3, 2, 4, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    MPI_Buffer_attach(buffer, bytes);
    if (rank == 0) {
        MPI_Send(out, 10, MPI_INT, 1, 1, W);
        MPI_Bsend(out, 2, MPI_DOUBLE, 1, 2, W);
        MPI_Ssend(out, 3, MPI_CHAR, 1, 3, W);
        MPI_Send(NULL, 0, MPI_INT, 1, 4, W);
        MPI_Send(out, 2, pairs, 1, 5, W);
        MPI_Recv(in, 0, MPI_INT, 1, 60, W, MPI_STATUS_IGNORE);
        MPI_Rsend(out, 1, MPI_INT, 1, 6, W);
    } else if (rank == 1) {
        MPI_Request ready;
        MPI_Recv(in, 64, MPI_INT, 0, 1, W, MPI_STATUS_IGNORE);
        MPI_Recv(in, 4, MPI_DOUBLE, MPI_ANY_SOURCE, 2, W, &status);
        MPI_Recv(in, 64, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, W, MPI_STATUS_IGNORE);
        MPI_Recv(NULL, 0, MPI_INT, 0, 4, W, &status);
        MPI_Recv(in, 2, pairs, 0, 5, W, MPI_STATUS_IGNORE);
        MPI_Irecv(in, 1, MPI_INT, 0, 6, W, &ready);
        MPI_Send(out, 0, MPI_INT, 0, 60, W);
        MPI_Wait(&ready, MPI_STATUS_IGNORE);
    }
    MPI_Buffer_detach(&buffer, &bytes);
    free(buffer);
    MPI_Type_free(&pairs);
}

static void exchange(int size)
{
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Sendrecv(out, 5, MPI_INT, right, 10, in, 8, MPI_INT, left, 10, W, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(out, 6, MPI_INT, right, 11, left, 11, W, MPI_STATUS_IGNORE);
    /* the ends of a line */
    MPI_Sendrecv(out, 7, MPI_INT, rank + 1 < size ? rank + 1 : MPI_PROC_NULL, 12, in, 7, MPI_INT,
                 rank ? rank - 1 : MPI_PROC_NULL, 12, W, MPI_STATUS_IGNORE);
}

static void nobody(void)
{
    MPI_Request r[2];
    MPI_Send(out, 1, MPI_INT, MPI_PROC_NULL, 20, W);
    MPI_Recv(in, 1, MPI_INT, MPI_PROC_NULL, 20, W, MPI_STATUS_IGNORE);
    MPI_Isend(out, 1, MPI_INT, MPI_PROC_NULL, 20, W, &r[0]);
    MPI_Irecv(in, 1, MPI_INT, MPI_PROC_NULL, 20, W, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void probed(void)
{
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;
    int flag = 0;
    if (rank == 0) {
        for (int tag = 30; tag < 34; tag++) MPI_Send(out, tag, MPI_CHAR, 1, tag, W);
    } else if (rank == 1) {
        MPI_Probe(0, 30, W, &status);
        MPI_Recv(in, 64, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, W, MPI_STATUS_IGNORE);
        while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, 31, W, &flag, MPI_STATUS_IGNORE);
        MPI_Recv(in, 64, MPI_CHAR, 0, 31, W, &status);
        MPI_Mprobe(0, 32, W, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(in, 64, MPI_CHAR, &message, MPI_STATUS_IGNORE);
        for (flag = 0; !flag;) MPI_Improbe(MPI_ANY_SOURCE, 33, W, &flag, &message, MPI_STATUS_IGNORE);
        MPI_Imrecv(in, 64, MPI_CHAR, &message, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Mprobe(MPI_PROC_NULL, 34, W, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &size);
    blocking();
    exchange(size);
    nobody();
    probed();
    MPI_Finalize();
    return 0;
}
