// SPDX-License-Identifier: BSD-3-Clause
// Alltoallv and similar operations with counts of 0: first no rank sends to itself, then rank 0 not to the last
// rank either; then the same operations among the neighbours of a ring.
#include <mpi.h>

#define MOST 16

static int out[2 * MOST], in[2 * MOST], gives[MOST], takes[MOST], places[MOST], bytes[MOST], all[MOST];
static MPI_Datatype types[MOST];

int main(int argc, char **argv)
{
    int rank, size, periodic = 1;
    MPI_Comm ring;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < size; i++) {
            gives[i] = i != rank && !(round && rank == 0 && i == size - 1);
            takes[i] = i != rank && !(round && i == 0 && rank == size - 1);
            all[i] = !(round && i == 0);
            places[i] = i;
            bytes[i] = 4 * i;
            types[i] = MPI_INT;
        }
        MPI_Alltoallv(out, gives, places, MPI_INT, in, takes, places, MPI_INT, MPI_COMM_WORLD);
        MPI_Alltoallw(out, gives, bytes, types, in, takes, bytes, types, MPI_COMM_WORLD);
        MPI_Allgatherv(out, all[rank], MPI_INT, in, all, places, MPI_INT, MPI_COMM_WORLD);
        MPI_Ialltoallv(out, gives, places, MPI_INT, in, takes, places, MPI_INT, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
#if MPI_VERSION >= 4
        MPI_Alltoallv_init(out, gives, places, MPI_INT, in, takes, places, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
#endif
    }
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    for (int i = 0; i < size; i++) gives[i] = takes[i] = 1;
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring);
    MPI_Allgather(out, 1, MPI_INT, in, 1, MPI_INT, ring);
    MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring);
    MPI_Neighbor_alltoallv(out, gives, places, MPI_INT, in, takes, places, MPI_INT, ring);
    MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, ring);
    MPI_Finalize();
    return 0;
}
