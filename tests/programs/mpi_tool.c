/* SPDX-License-Identifier: BSD-3-Clause */
/* Another tool that wraps MPI functions, as a library. It prints its counts at the end. */
#include <mpi.h>
#include <stdio.h>

static int inits, sends, bcasts;

int MPI_Init(int *argc, char ***argv)
{
    inits++;
    return PMPI_Init(argc, argv);
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buffer, count, type, dest, tag, comm);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    bcasts++;
    return PMPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) printf("tool: %d inits, %d sends, %d bcasts\n", inits, sends, bcasts);
    fflush(stdout);
    return PMPI_Finalize();
}
