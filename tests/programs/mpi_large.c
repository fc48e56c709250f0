/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions with large counts; prints "none" if the MPI has none. */
#include <mpi.h>
#include <stdio.h>

#define W MPI_COMM_WORLD

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
#if MPI_VERSION >= 4
    int out[8] = {0}, in[8];
    MPI_Count counts[2] = {1, 2};
    MPI_Aint places[2] = {0, 2};
    MPI_Request r[2];
    MPI_Sendrecv_c(out, 3, MPI_INT, !rank, 1, in, 8, MPI_INT, !rank, 1, W, MPI_STATUS_IGNORE);
    MPI_Irecv_c(in, 8, MPI_INT, !rank, 2, W, &r[0]);
    MPI_Isend_c(out, 4, MPI_INT, !rank, 2, W, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Bcast_c(out, 5, MPI_INT, 0, W);
    MPI_Allgatherv_c(out, rank + 1, MPI_INT, in, counts, places, MPI_INT, W);
    MPI_Iallgatherv_c(out, rank + 1, MPI_INT, in, counts, places, MPI_INT, W, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Allgatherv_init_c(out, rank + 1, MPI_INT, in, counts, places, MPI_INT, W, MPI_INFO_NULL, &r[0]);
    MPI_Start(&r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&r[0]);
#else
    if (rank == 0) puts("none");
#endif
    MPI_Finalize();
    return 0;
}
