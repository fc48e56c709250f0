/* SPDX-License-Identifier: BSD-3-Clause */
/* A library with a function that communicates for its caller. */
#include <mpi.h>

int library_sum(int mine)
{
    int sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* site: library */
    return sum + 0 * mine;
}
