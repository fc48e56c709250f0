/* SPDX-License-Identifier: BSD-3-Clause */
/* Example 1 of the guide to Tofu PA (5.2.2), with the declarations that it lacks. */
#include "fj_tool/fjtofupa.h"
#include <mpi.h>

static int b[2][262144];

int main(int argc, char **argv)
{
    int rank, size, l, r;
    MPI_Request Rq[2];
    MPI_Status St[2];
    MPI_Init(&argc, &argv);

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    l = (rank - 1 + size) % size;
    r = (rank + 1) % size;

    MPI_Barrier(MPI_COMM_WORLD);

    fj_tofupa_start("", 1, 0);
    MPI_Isend(&b[0], 262144, MPI_INT, l, 0, MPI_COMM_WORLD, &Rq[0]);
    MPI_Irecv(&b[1], 262144, MPI_INT, r, 0, MPI_COMM_WORLD, &Rq[1]);
    MPI_Waitall(2, Rq, St);
    fj_tofupa_stop("", 1, 0);

    MPI_Finalize();
    return 0;
}
