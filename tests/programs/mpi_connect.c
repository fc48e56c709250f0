/* SPDX-License-Identifier: BSD-3-Clause */
/* Four ranks: the first two accept connections of the other two, once as groups and once one by one. */
#include <mpi.h>
#include <string.h>

static void swap(MPI_Comm across, int tag)
{
    int me, in;
    MPI_Comm_rank(across, &me);
    MPI_Sendrecv(&me, 1, MPI_INT, me, tag, &in, 1, MPI_INT, me, tag, across, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank;
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm half, across;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &half);
    if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank != 0 && rank != 2) strcpy(port, "not significant");
    for (int i = 0; i < 2; i++) {
        if (rank < 2) MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &across);
        else MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &across);
        swap(across, i + 1);
        MPI_Comm_disconnect(&across);
    }
    if (rank == 0) MPI_Close_port(port);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
