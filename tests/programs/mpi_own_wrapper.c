/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that wraps MPI_Init itself (-DINIT), or MPI_Barrier only. */
#include <mpi.h>
#include <stdio.h>

static int seen;

#ifdef INIT
int MPI_Init(int *argc, char ***argv)
{
    seen++;
    return PMPI_Init(argc, argv);
}
#endif

int MPI_Barrier(MPI_Comm comm)
{
    seen++;
    return PMPI_Barrier(comm);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0) printf("seen %d\n", seen);
    return 0;
}
