/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_refused: calls of one-sided communication and MPI-IO that fail while errors are returned. The output of rank 0
   must not depend on tracing. */
#include <mpi.h>
#include <stdio.h>

static int rank;

static void say(const char *what, int result)
{
    int class;
    if (rank) return;
    MPI_Error_class(result, &class);
    printf("%s %s\n", what, class == MPI_SUCCESS ? "works" : "fails");
}

static void one_sided(void)
{
    long memory[2] = {0}, x = 1;
    MPI_Win win, none = MPI_WIN_NULL;
    MPI_Request request;
    say("Win_create", MPI_Win_create(memory, -5, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    say("Win_create", MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    say("Win_lock", MPI_Win_lock(MPI_LOCK_SHARED, 99, 0, win));
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    say("Put", MPI_Put(&x, 1, MPI_LONG, 99, 0, 1, MPI_LONG, win));
    say("Put", MPI_Put(&x, -1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    say("Put", MPI_Put(&x, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_LONG, win));
    say("Rput", MPI_Rput(&x, -1, MPI_LONG, 0, 0, 1, MPI_LONG, win, &request));
    say("Rget", MPI_Rget(&x, -1, MPI_LONG, 0, 0, 1, MPI_LONG, win, &request));
    say("Put", MPI_Put(&x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    MPI_Win_unlock(0, win);
    say("Put", MPI_Put(&x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, none));
    say("Win_free", MPI_Win_free(&none));
    MPI_Win_free(&win);
}

static void files(void)
{
    char text[8] = "abcdefg";
    MPI_File file, none = MPI_FILE_NULL;
    MPI_Info info = MPI_INFO_NULL;
    say("File_open", MPI_File_open(MPI_COMM_WORLD, "no/such/file", MPI_MODE_RDONLY, info, &file));
    say("File_delete", MPI_File_delete("no/such/file", info));
    say("File_open", MPI_File_open(MPI_COMM_WORLD, "written", MPI_MODE_CREATE | MPI_MODE_WRONLY, info, &file));
    say("File_write", MPI_File_write(file, text, 7, MPI_CHAR, MPI_STATUS_IGNORE));
    say("File_seek", MPI_File_seek(file, -1, MPI_SEEK_SET));
    MPI_File_close(&file);
    say("File_open", MPI_File_open(MPI_COMM_WORLD, "written", MPI_MODE_RDONLY, info, &file));
    say("File_write", MPI_File_write(file, text, 7, MPI_CHAR, MPI_STATUS_IGNORE));
    say("File_read", MPI_File_read(file, text, -1, MPI_CHAR, MPI_STATUS_IGNORE));
    say("File_read", MPI_File_read(file, text, 8, MPI_CHAR, MPI_STATUS_IGNORE));
    say("File_read", MPI_File_read(none, text, 7, MPI_CHAR, MPI_STATUS_IGNORE));
    say("File_close", MPI_File_close(&none));
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    one_sided();
    files();
    MPI_Finalize();
    return 0;
}
