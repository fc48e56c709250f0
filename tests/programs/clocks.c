// SPDX-License-Identifier: BSD-3-Clause
// A ring of messages that any receive would match, collectives, and a measurement of clock offsets in the middle.
#include <mpi.h>
#include <stdio.h>
#include "vt_user.h"

int main(int argc, char **argv)
{
    int rank, size, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 20; i++) {
        int token = rank + i, got;
        MPI_Request request;
        MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD);
        if (i == 10) VT_TIMESYNC(); /* a receive may be open */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Allreduce(&got, &token, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        sum += token;
    }
    if (!rank) printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
