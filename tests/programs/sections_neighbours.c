/* SPDX-License-Identifier: BSD-3-Clause */
/* sections_neighbours: a ring of three ranks, each with two neighbours. Each gathering call sends BYTES and receives
   BYTES from each neighbour; the first call is before all sections. */
#include "fj_tool/fapp.h"
#include <mpi.h>

#define BYTES 1000

static char out[BYTES], in[2 * BYTES];

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Comm ring;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int near[2] = {(rank + size - 1) % size, (rank + 1) % size}, counts[2] = {BYTES, BYTES},
              places[2] = {0, BYTES};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, near, MPI_UNWEIGHTED, 2, near, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &ring);
    MPI_Neighbor_allgather(out, BYTES, MPI_CHAR, in, BYTES, MPI_CHAR, ring);
    fapp_start("near", 1, 0);
    for (int i = 0; i < 3; i++) MPI_Neighbor_allgather(out, BYTES, MPI_CHAR, in, BYTES, MPI_CHAR, ring);
    MPI_Neighbor_allgatherv(out, BYTES, MPI_CHAR, in, counts, places, MPI_CHAR, ring);
    MPI_Ineighbor_allgather(out, BYTES, MPI_CHAR, in, BYTES, MPI_CHAR, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Neighbor_alltoall(out, BYTES / 2, MPI_CHAR, in, BYTES / 2, MPI_CHAR, ring);
    fapp_stop("near", 1, 0);
    MPI_Finalize();
    return 0;
}
