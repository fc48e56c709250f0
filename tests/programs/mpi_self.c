/* SPDX-License-Identifier: BSD-3-Clause */
/* Duplicates of MPI_COMM_SELF: on each one a message of the process to itself and two collectives. */
#include <mpi.h>

static void use(MPI_Comm comm)
{
    int one = 1, got = 0;
    MPI_Sendrecv(&one, 1, MPI_INT, 0, 5, &got, 1, MPI_INT, 0, 5, comm, MPI_STATUS_IGNORE);
    MPI_Barrier(comm);
    MPI_Allreduce(&one, &got, 1, MPI_INT, MPI_SUM, comm);
}

int main(int argc, char **argv)
{
    MPI_Comm copy, again;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Comm_dup(copy, &again);
    use(copy);
    use(again);
    MPI_Comm_free(&again);
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return 0;
}
