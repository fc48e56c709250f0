/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows, files and active operations on them across MPI_Pcontrol, on 2 ranks. */
#include <mpi.h>

static MPI_Win make(long *memory)
{
    MPI_Win win;
    MPI_Win_create(memory, 8 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    return win;
}

static MPI_File start(const char *name)
{
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    return file;
}

int main(int argc, char **argv)
{
    long memory[3][8] = {{0}}, x = 1;
    int rank, other;
    MPI_Win seen, hidden;
    MPI_File seen_file, hidden_file;
    MPI_Request across, write[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    seen = make(memory[0]);
    seen_file = start("seen");
    MPI_Win_lock_all(0, seen);
    MPI_Rput(&x, 1, MPI_LONG, other, 0, 1, MPI_LONG, seen, &across);
    MPI_File_iwrite_at(seen_file, 8 * rank, &x, 1, MPI_LONG, &write[0]);
    MPI_Pcontrol(0);
    MPI_Wait(&across, MPI_STATUS_IGNORE);
    MPI_Wait(&write[0], MPI_STATUS_IGNORE);
    hidden = make(memory[1]);
    hidden_file = start("hidden");
    MPI_Put(&x, 1, MPI_LONG, other, 1, 1, MPI_LONG, seen);
    MPI_Rput(&x, 1, MPI_LONG, other, 2, 1, MPI_LONG, seen, &across);
    MPI_File_iwrite_at(hidden_file, 8 * rank, &x, 1, MPI_LONG, &write[1]);
    MPI_Pcontrol(1);
    MPI_Wait(&across, MPI_STATUS_IGNORE);
    MPI_Wait(&write[1], MPI_STATUS_IGNORE);
    MPI_Put(&x, 1, MPI_LONG, other, 3, 1, MPI_LONG, seen);
    MPI_Win_unlock_all(seen);
    MPI_Win_fence(0, hidden);
    MPI_Put(&x, 1, MPI_LONG, other, 4, 1, MPI_LONG, hidden);
    MPI_Win_fence(0, hidden);
    MPI_Win_free(&hidden);
    MPI_File_write_at(hidden_file, 8 * rank, &x, 1, MPI_LONG, MPI_STATUS_IGNORE);
    MPI_File_close(&hidden_file);
    hidden_file = start("hidden");
    MPI_File_write_at(hidden_file, 8 * rank, &x, 1, MPI_LONG, MPI_STATUS_IGNORE);
    MPI_File_close(&hidden_file);
    MPI_Pcontrol(0);
    MPI_Win_free(&seen);
    MPI_File_close(&seen_file);
    MPI_Pcontrol(1);
    seen_file = start("seen");
    MPI_File_close(&seen_file);
    MPI_Finalize();
    return 0;
}
