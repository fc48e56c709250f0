/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank starts a child with an info object that has the child's working directory or search path. Arguments: the key
   and its value, and the command. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    MPI_Comm parent, child;
    MPI_Info info, twin;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL && argc == 4) {
        MPI_Info_create(&info);
        MPI_Info_set(info, argv[1], argv[2]);
        MPI_Info_dup(info, &twin);
        MPI_Info_free(&info);
        MPI_Comm_spawn(argv[3], MPI_ARGV_NULL, 1, twin, 0, MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE);
        MPI_Info_free(&twin);
        MPI_Barrier(child);
        MPI_Comm_disconnect(&child);
        puts("started");
    } else {
        MPI_Barrier(parent);
        MPI_Comm_disconnect(&parent);
    }
    MPI_Finalize();
    return 0;
}
