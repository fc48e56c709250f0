/* SPDX-License-Identifier: BSD-3-Clause */
/* Invalid communicators, and the number of calls of the program's own error handlers for them. In Open MPI a handle is
   an address, so only a null handle can be tried there. */
#include <mpi.h>
#include <stdio.h>

static int handled;

static void count(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    handled++;
}

static void say(const char *what, int result)
{
    int class;
    MPI_Error_class(result, &class);
    printf("%s: class %d, handled %d\n", what, class, handled);
}

static void try(MPI_Comm comm)
{
    int n = 0;
    MPI_Comm made = comm;
    MPI_Request request;
    say("size", MPI_Comm_size(comm, &n));
    say("send", MPI_Send(&n, 1, MPI_INT, 0, 0, comm));
    say("irecv", MPI_Irecv(&n, 1, MPI_INT, 0, 0, comm, &request));
    say("barrier", MPI_Barrier(comm));
    say("dup", MPI_Comm_dup(comm, &made));
    say("split", MPI_Comm_split(comm, 0, 0, &made));
    say("name", MPI_Comm_set_name(comm, "name"));
    made = comm;
    say("free", MPI_Comm_free(&made));
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(count, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    try(MPI_COMM_NULL);
#ifdef MPICH_NUMVERSION
    MPI_Comm freed;
    MPI_Comm_dup(MPI_COMM_WORLD, &freed);
    const MPI_Comm was = freed;
    MPI_Comm_free(&freed);
    try(was);
    try((MPI_Comm)0x12345678);
#endif
    MPI_Errhandler_free(&handler);
    MPI_Finalize();
    return 0;
}
