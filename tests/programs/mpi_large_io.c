/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions with large counts of one-sided communication and MPI-IO, each rank with itself. Prints "none" if the MPI
   has none. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
#if MPI_VERSION >= 4
    int rank, memory[8] = {0}, values[8] = {0};
    MPI_Win win;
    MPI_File file;
    MPI_Request request;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create_c(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    MPI_Put_c(values, 3, MPI_INT, rank, 0, 3, MPI_INT, win);
    MPI_Get_c(values, 5, MPI_INT, rank, 0, 5, MPI_INT, win);
    MPI_Accumulate_c(values, 2, MPI_INT, rank, 0, 2, MPI_INT, MPI_SUM, win);
    MPI_Rput_c(values, 4, MPI_INT, rank, 0, 4, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock(rank, win);
    MPI_Win_free(&win);
    MPI_File_open(MPI_COMM_WORLD, "large", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at_all_c(file, 32 * rank, values, 6, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_iread_at_c(file, 32 * rank, values, 6, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
#else
    puts("none");
#endif
    MPI_Finalize();
    return 0;
}
