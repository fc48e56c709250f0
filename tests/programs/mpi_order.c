/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of rank 0 to rank 1 whose order is not that of the calls which receive them. Each has its own length, so
   that a reader of the archive can match sends and receives. Errors are returned.

   Tags 1 to 6: of three messages of 4, 8 and 12 bytes the receive of the second one has too little room: by MPI_Recv,
   MPI_Sendrecv, MPI_Irecv with MPI_Wait, MPI_Waitany and MPI_Waitall, and MPI_Start.
   Tag 7: three matched probes, whose messages of 4, 8 and 12 bytes are received in reverse order: one by MPI_Imrecv.
   Tag 8: messages in partitions, of 16 bytes, between ordinary ones of 4, 8 and 12.
   Tags 9 to 15: as 1 to 6, by MPI_Irecv with MPI_Test, Testany, Testall, Waitsome and Testsome, by MPI_Mrecv and by
   MPI_Imrecv. */
#include <mpi.h>

#define W MPI_COMM_WORLD
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define PARTITIONED 1
#endif

static int rank;

static void send(int tag)
{
    int out[3] = {0};
    for (int n = 1; n <= 3; n++) MPI_Send(out, n, MPI_INT, 1, tag, W);
}

/* The second receive has room for one int, the others for three. */
static int room(int i) { return i == 1 ? 1 : 3; }

static void receive(int tag)
{
    int in[3][3], index;
    MPI_Request r[3];
    MPI_Status status;
    for (int i = 0; i < 3; i++) {
        if (tag == 1) MPI_Recv(in[i], room(i), MPI_INT, 0, tag, W, MPI_STATUS_IGNORE);
        if (tag == 2)
            MPI_Sendrecv(in[2], 0, MPI_INT, MPI_PROC_NULL, tag, in[i], room(i), MPI_INT, 0, tag, W, MPI_STATUS_IGNORE);
        if (tag > 2 && tag < 6) MPI_Irecv(in[i], room(i), MPI_INT, 0, tag, W, &r[i]);
        if (tag == 3) MPI_Wait(&r[i], MPI_STATUS_IGNORE);
        if (tag == 4) MPI_Waitany(1, &r[i], &index, &status);
        if (tag == 6) {
            MPI_Recv_init(in[i], room(i), MPI_INT, 0, tag, W, &r[i]);
            MPI_Start(&r[i]);
            MPI_Wait(&r[i], &status);
            MPI_Request_free(&r[i]);
        }
    }
    if (tag == 5) MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    for (int i = 0; tag == 5 && i < 3; i++) /* some MPI libraries give up at the first error */
        if (r[i] != MPI_REQUEST_NULL) MPI_Wait(&r[i], MPI_STATUS_IGNORE);
}

static int left(const MPI_Request *r)
{
    return r[0] != MPI_REQUEST_NULL || r[1] != MPI_REQUEST_NULL || r[2] != MPI_REQUEST_NULL;
}

/* Until all are complete: some MPI libraries give up at the first error. */
static void complete(int tag, MPI_Request *r)
{
    int done, index, some[3];
    MPI_Status statuses[3];
    while (left(r)) {
        if (tag == 9)
            for (int i = 0; i < 3; i++) MPI_Test(&r[i], &done, statuses);
        if (tag == 10) MPI_Testany(3, r, &index, &done, MPI_STATUS_IGNORE);
        if (tag == 11) MPI_Testall(3, r, &done, statuses);
        if (tag == 12) MPI_Waitsome(3, r, &done, some, statuses);
        if (tag == 13) MPI_Testsome(3, r, &done, some, MPI_STATUSES_IGNORE);
    }
}

static void receive_later(int tag)
{
    int in[3][3];
    MPI_Request r[3];
    MPI_Message m;
    for (int i = 0; i < 3; i++) {
        if (tag < 14) MPI_Irecv(in[i], room(i), MPI_INT, 0, tag, W, &r[i]);
        else MPI_Mprobe(0, tag, W, &m, MPI_STATUS_IGNORE);
        if (tag == 14) MPI_Mrecv(in[i], room(i), MPI_INT, &m, MPI_STATUS_IGNORE);
        if (tag == 15) {
            MPI_Imrecv(in[i], room(i), MPI_INT, &m, &r[i]);
            MPI_Wait(&r[i], MPI_STATUS_IGNORE);
        }
    }
    if (tag < 14) complete(tag, r);
}

static void probed(void)
{
    int in[3][3];
    MPI_Message m[3];
    MPI_Request r;
    for (int i = 0; i < 3; i++) MPI_Mprobe(0, 7, W, &m[i], MPI_STATUS_IGNORE);
    MPI_Mrecv(in[2], 3, MPI_INT, &m[2], MPI_STATUS_IGNORE);
    MPI_Imrecv(in[1], 3, MPI_INT, &m[1], &r);
    MPI_Mrecv(in[0], 3, MPI_INT, &m[0], MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

#ifdef PARTITIONED
static void partitioned(void)
{
    int parts[4] = {0}, in[3][3];
    MPI_Request r;
    if (rank) MPI_Precv_init(parts, 2, 2, MPI_INT, 0, 8, W, MPI_INFO_NULL, &r);
    else MPI_Psend_init(parts, 2, 2, MPI_INT, 1, 8, W, MPI_INFO_NULL, &r);
    MPI_Start(&r);
    if (rank) {
        for (int i = 0; i < 3; i++) MPI_Recv(in[i], 3, MPI_INT, 0, 8, W, MPI_STATUS_IGNORE);
    } else {
        send(8);
        MPI_Pready_range(0, 1, r);
    }
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Request_free(&r);
}
#endif

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
    for (int tag = 1; tag <= 6; tag++) {
        if (rank) receive(tag);
        else send(tag);
        MPI_Barrier(W);
    }
    if (rank) probed();
    else send(7);
    MPI_Barrier(W);
#ifdef PARTITIONED
    partitioned();
#endif
    for (int tag = 9; tag <= 15; tag++) {
        if (rank) receive_later(tag);
        else send(tag);
        MPI_Barrier(W);
    }
    MPI_Finalize();
    return 0;
}
