/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls for the tool mpi_tool.c: one send, two broadcasts. -DPROFILING: defines a PMPI_ function itself. */
#include <mpi.h>
#include <stdio.h>

#ifdef PROFILING
int PMPI_Barrier(MPI_Comm comm)
{
    int n = 0;
    PMPI_Comm_size(comm, &n);
    printf("own PMPI_Barrier of %d\n", n);
    fflush(stdout);
    return MPI_SUCCESS;
}
#endif

int main(int argc, char **argv)
{
    int rank, data = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) MPI_Send(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    else MPI_Recv(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(&data, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&data, 1, MPI_INT, 1, MPI_COMM_WORLD);
    PMPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
