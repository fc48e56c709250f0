/* SPDX-License-Identifier: BSD-3-Clause */
/* sections_lengths: two ranks; section messages/1 has point-to-point calls, probed/1 receives of a probed message,
   collective/2 collective ones and some without a message, one-sided/3 one-sided ones; one MPI_Irecv is before all
   sections. BYTES is the unit of all messages, for three classes of lengths. Receives have room for more than comes.
   tests/integration/test_sections_posted.py has the sizes of their buffers, test_fapp.py the lengths by Table 3.24 of
   the guide. */
#include "fj_tool/fapp.h"
#include <mpi.h>

#define BYTES 4096
#define MANY 512

static char out[MANY * BYTES], in[MANY * BYTES], room[16 * BYTES];

static void before(int peer)
{
    MPI_Request request;
    MPI_Irecv(in, 3, MPI_INT, peer, 1, MPI_COMM_WORLD, &request);
    MPI_Send(out, 1, MPI_INT, peer, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void messages(int peer)
{
    MPI_Request request[2];
    fapp_start("messages", 1, 0);
    MPI_Irecv(in, MANY * BYTES, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request[0]);
    MPI_Isend(out, 16 * BYTES, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3; i++)
        MPI_Sendrecv(out, BYTES, MPI_BYTE, peer, 2, in, MANY * BYTES, MPI_BYTE, peer, 2, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(out, 2 * BYTES, MPI_BYTE, peer, 3, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bsend(out, BYTES, MPI_BYTE, peer, 4, MPI_COMM_WORLD);
    MPI_Recv(in, MANY * BYTES, MPI_BYTE, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fapp_stop("messages", 1, 0);
}

static void probed(int peer)
{
    MPI_Message message[2];
    MPI_Request request;
    fapp_start("probed", 1, 0);
    for (int i = 0; i < 2; i++) {
        MPI_Bsend(out, BYTES, MPI_BYTE, peer, 5, MPI_COMM_WORLD);
        MPI_Mprobe(peer, 5, MPI_COMM_WORLD, &message[i], MPI_STATUS_IGNORE);
    }
    MPI_Mrecv(in, MANY, MPI_DOUBLE, &message[0], MPI_STATUS_IGNORE);
    MPI_Imrecv(in, MANY * BYTES, MPI_BYTE, &message[1], &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    fapp_stop("probed", 1, 0);
}

static void collective(void)
{
    MPI_Request request;
    fapp_start("collective", 2, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(in, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Gather(out, BYTES, MPI_BYTE, in, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Allgather(out, BYTES, MPI_BYTE, in, BYTES, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Alltoall(out, BYTES, MPI_BYTE, in, BYTES, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Reduce(out, in, BYTES, MPI_BYTE, MPI_BOR, 0, MPI_COMM_WORLD);
    MPI_Allreduce(out, in, 4, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(out, in, BYTES, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    MPI_Scan(out, in, BYTES, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    MPI_Iallreduce(out, in, BYTES, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD, &request);
    fapp_stop("collective", 2, 0);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void one_sided(int rank, int peer)
{
    MPI_Win win;
    int swapped, one = 1, zero = 0;
    MPI_Win_create(in, sizeof in, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    fapp_start("one_sided", 3, 0);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, peer, 0, win);
    MPI_Put(out, BYTES, MPI_BYTE, peer, 0, BYTES, MPI_BYTE, win);
    if (rank == 0) MPI_Compare_and_swap(&one, &zero, &swapped, MPI_INT, peer, 0, win);
    MPI_Win_unlock(peer, win);
    fapp_stop("one_sided", 3, 0);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Buffer_attach(room, sizeof room);
    before(1 - rank);
    messages(1 - rank);
    probed(1 - rank);
    collective();
    one_sided(rank, 1 - rank);
    fapp_start("hidden", 4, 1);
    fapp_stop("hidden", 4, 1);
    fapp_start("unfinished", 5, 0);
    MPI_Finalize();
    return 0;
}
