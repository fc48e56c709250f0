/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions, on 2 ranks. Argument: only (two cycles, and two sessions at a time), before (a session, then MPI_Init) or
   after (MPI_Init, then a session). */
#include <mpi.h>
#include <string.h>

static void ring(MPI_Comm comm, int tag)
{
    int me, n, in;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % n, tag, &in, 1, MPI_INT, (me + n - 1) % n, tag, comm, MPI_STATUS_IGNORE);
}

static void talk(MPI_Session session, int tag)
{
    MPI_Group group;
    MPI_Comm comm, twin;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "org.vtrace.all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    ring(comm, tag);
    MPI_Comm_dup(comm, &twin);
    ring(twin, tag + 1);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
}

int main(int argc, char **argv)
{
    MPI_Session one, two;
    const char *what = argc > 1 ? argv[1] : "only";
    if (!strcmp(what, "after")) MPI_Init(&argc, &argv);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &one);
    if (!strcmp(what, "before")) MPI_Init(&argc, &argv);
    talk(one, 10);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &two);
    talk(two, 20);
    MPI_Session_finalize(&one);
    MPI_Session_finalize(&two);
    if (strcmp(what, "only")) {
        ring(MPI_COMM_WORLD, 30);
        MPI_Finalize();
        return 0;
    }
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &one);
    talk(one, 40);
    MPI_Session_finalize(&one);
    return 0;
}
