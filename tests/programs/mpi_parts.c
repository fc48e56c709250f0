/* SPDX-License-Identifier: BSD-3-Clause */
/* In a ring: partitioned messages, two rounds, and sends and receives with one request. Prints "none" if the MPI has
   neither. */
#include <mpi.h>
#include <stdio.h>

#define W MPI_COMM_WORLD
#define PARTS 4

#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
static int rank, size, left, right;

static void partitioned(void)
{
    int out[PARTS * 3], in[PARTS * 3], last = 3, flag;
    MPI_Request r[2];
    MPI_Psend_init(out, PARTS, 3, MPI_INT, right, 1, W, MPI_INFO_NULL, &r[0]);
    MPI_Precv_init(in, PARTS, 3, MPI_INT, left, 1, W, MPI_INFO_NULL, &r[1]);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < PARTS * 3; i++) out[i] = 100 * round + 10 * rank + i;
        MPI_Startall(2, r);
        MPI_Pready(0, r[0]);
        MPI_Pready_range(1, 2, r[0]);
        MPI_Pready_list(1, &last, r[0]);
        for (int i = 0; i < PARTS; i++)
            for (flag = 0; !flag;) MPI_Parrived(r[1], i, &flag);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        for (int i = 0; i < PARTS * 3; i++)
            if (in[i] != 100 * round + 10 * left + i) MPI_Abort(W, 1);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

static void paired(void)
{
    int out[5] = {rank}, in[5], both[2] = {rank};
    MPI_Request r[2];
    MPI_Status status[2];
    MPI_Isendrecv(out, 5, MPI_INT, right, 2, in, 5, MPI_INT, left, 2, W, &r[0]);
    MPI_Isendrecv_replace(both, 2, MPI_INT, right, 3, left, 3, W, &r[1]);
    MPI_Waitall(2, r, status);
    if (in[0] != left || both[0] != left) MPI_Abort(W, 2);
    MPI_Isendrecv(out, 4, MPI_INT, rank == size - 1 ? MPI_PROC_NULL : right, 4, in, 4, MPI_INT,
                  rank == 0 ? MPI_PROC_NULL : left, 4, W, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
#ifdef MPICH_NUMVERSION /* the status has no source and tag */
    MPI_Isendrecv(out, 1, MPI_INT, right, 5, in, 1, MPI_INT, left, 5, W, &r[0]);
#else
    MPI_Isendrecv(out, 1, MPI_INT, right, 5, in, 5, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, W, &r[0]);
#endif
    MPI_Wait(&r[0], &status[0]);
}
#endif

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &size);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    partitioned();
    MPI_Barrier(W);
    paired();
#else
    puts("none");
#endif
    MPI_Finalize();
    return 0;
}
