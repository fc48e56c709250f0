/* SPDX-License-Identifier: BSD-3-Clause */
/* A persistent buffered send is started 8 times before the first message is received. Open MPI gives the send another
   request each time. 2 ranks. */
#include <mpi.h>
#include <stdlib.h>

#define N (1 << 18)
#define ROUNDS 8

int main(int argc, char **argv)
{
    int rank, bytes;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int *data = calloc(N, sizeof *data), room = ROUNDS * (N * (int)sizeof *data + MPI_BSEND_OVERHEAD);
    void *buffer = malloc((size_t)room);
    if (rank == 0) {
        MPI_Buffer_attach(buffer, room);
        MPI_Bsend_init(data, N, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
        for (int i = 0; i < ROUNDS; i++) {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Send(data, 0, MPI_INT, 1, 1, MPI_COMM_WORLD);
        MPI_Buffer_detach(&buffer, &bytes);
        MPI_Request_free(&request);
    } else {
        MPI_Recv(data, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < ROUNDS; i++) MPI_Recv(data, N, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    free(buffer);
    free(data);
    MPI_Finalize();
    return 0;
}
