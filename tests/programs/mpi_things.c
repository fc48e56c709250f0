/* SPDX-License-Identifier: BSD-3-Clause */
/* Each thing that vtrace records of MPI, once; C and C++, 2 ranks. mpi_things.F90 and mpi_things.py make the same
   calls. */
#include <mpi.h>
#include "vt_user.h"

int main(int argc, char **argv)
{
    int rank, v[6] = {0}, sum[6];
    MPI_Comm pair;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &pair);
    MPI_Comm_set_name(pair, "pair");
    VT_SECTION_START("exchange", 1, 0);
    if (rank == 0) MPI_Send(v, 3, MPI_INT, 1, 7, pair);
    else MPI_Recv(v, 6, MPI_INT, 0, 7, pair, MPI_STATUS_IGNORE);
    VT_SECTION_STOP("exchange", 1, 0);
    MPI_Bcast(v, 2, MPI_INT, 1, pair);
    MPI_Reduce(v, sum, 3, MPI_INT, MPI_SUM, 0, pair);
    MPI_File_open(pair, "things.dat", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at(file, 24 * rank, v, 5, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Comm_free(&pair);
    MPI_Finalize();
    return 0;
}
