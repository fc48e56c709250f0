/* SPDX-License-Identifier: BSD-3-Clause */
/* Error handlers on MPI_COMM_WORLD, MPI_COMM_SELF, a window, a file and a session, which count their calls. None is
   called unless something fails. After a failure, the number of calls is the same as without vtrace. Before that, while
   an error would end the program, communicators created by PMPI functions, which vtrace does not see, are used in each
   way. 2 ranks. */
#include <mpi.h>
#include "program.h"

static int rank, of_comm, of_win, of_file, of_session;

static void comm_failed(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    of_comm++;
}

static void win_failed(MPI_Win *win, int *error, ...)
{
    (void)win;
    (void)error;
    of_win++;
}

static void file_failed(MPI_File *file, int *error, ...)
{
    (void)file;
    (void)error;
    of_file++;
}

static void say(const char *what)
{
    if (!rank) printf("%s: %d %d %d %d\n", what, of_comm, of_win, of_file, of_session);
}

static MPI_Comm unseen(void)
{
    MPI_Comm comm;
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    return comm;
}

/* First calls on a communicator that a PMPI function created, tags 1 to 5. */
static void first_calls(void)
{
    int in = 0, other = 1 - rank;
    MPI_Request request;
    MPI_Comm comms[7], made;
    MPI_Win win;
    for (int i = 0; i < 7; i++) comms[i] = unseen();
    if (rank) MPI_Recv(&in, 1, MPI_INT, 0, 1, comms[0], MPI_STATUS_IGNORE);
    else MPI_Send(&rank, 1, MPI_INT, 1, 1, comms[0]);
    MPI_Sendrecv(&rank, 1, MPI_INT, other, 2, &in, 1, MPI_INT, other, 2, comms[1], MPI_STATUS_IGNORE);
    if (rank) MPI_Irecv(&in, 1, MPI_INT, 0, 3, comms[2], &request);
    else MPI_Isend(&rank, 1, MPI_INT, 1, 3, comms[2], &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(&rank, &in, 1, MPI_INT, MPI_SUM, comms[3]);
    MPI_Ibcast(&in, 1, MPI_INT, 0, comms[4], &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_split(comms[5], 0, rank, &made);
    MPI_Sendrecv(&rank, 1, MPI_INT, other, 4, &in, 1, MPI_INT, other, 4, made, MPI_STATUS_IGNORE);
    MPI_Comm_free(&made);
    MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, comms[6], &win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Sendrecv(&rank, 1, MPI_INT, other, 5, &in, 1, MPI_INT, other, 5, comms[6], MPI_STATUS_IGNORE);
    for (int i = 0; i < 7; i++) MPI_Comm_free(&comms[i]);
}

/* Messages of 12 bytes, tags 11 to 13; then one of a datatype that is freed. */
static void datatypes(void)
{
    int out[8] = {0}, in[8], other = 1 - rank;
    MPI_Datatype three, twin, freed;
    MPI_Type_vector(3, 1, 2, MPI_INT, &three);
    MPI_Type_commit(&three);
    MPI_Sendrecv(out, 1, three, other, 11, in, 1, three, other, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_dup(three, &twin);
    MPI_Type_free(&three);
    MPI_Sendrecv(out, 1, twin, other, 12, in, 1, twin, other, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&twin);
    MPI_Type_contiguous(3, MPI_FLOAT, &three);
    MPI_Type_commit(&three);
    MPI_Sendrecv(out, 1, three, other, 13, in, 1, three, other, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    freed = three;
    MPI_Type_free(&three);
    say("datatypes");
#ifdef MPICH_NUMVERSION
    MPI_Send(out, 1, freed, MPI_PROC_NULL, 0, MPI_COMM_SELF);
#endif
    MPI_Send(out, 1, MPI_DATATYPE_NULL, other, 0, MPI_COMM_SELF);
    say("invalid datatypes");
    (void)freed;
}

static void windows_and_files(void)
{
    static long memory;
    long x = 1;
    char name[] = "handled";
    MPI_Win win;
    MPI_File file;
    MPI_Errhandler handler;
    MPI_Group world, pair;
    const int other = 1 - rank;
    MPI_Win_create(&memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_create_errhandler(win_failed, &handler);
    MPI_Win_set_errhandler(win, handler);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &other, &pair);
    MPI_Win_fence(0, win);
    MPI_Put(&x, 1, MPI_LONG, other, 0, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    MPI_Win_post(pair, 0, win);
    MPI_Win_start(pair, 0, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    say("window");
    MPI_Win_lock(MPI_LOCK_SHARED, 99, 0, win);
    say("window's mistake");
    MPI_Win_free(&win);
    MPI_Errhandler_free(&handler);
    MPI_Group_free(&pair);
    MPI_Group_free(&world);
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_create_errhandler(file_failed, &handler);
    MPI_File_set_errhandler(file, handler);
    MPI_File_write_at(file, 8 * rank, &x, 1, MPI_LONG, MPI_STATUS_IGNORE);
    MPI_File_seek(file, 0, MPI_SEEK_END);
    MPI_File_seek(file, -8, MPI_SEEK_CUR);
    say("file");
    MPI_File_seek(file, -99, MPI_SEEK_SET);
    say("file's mistake");
    MPI_File_close(&file);
    MPI_Errhandler_free(&handler);
}

/* Three messages, one too long: the completion of all of them calls the handler once. */
static void too_long(void)
{
    int in[3], out[4] = {0};
    MPI_Request requests[3];
    for (int i = 0; i < 3; i++) {
        if (rank) MPI_Irecv(&in[i], 1, MPI_INT, 0, 20 + i, MPI_COMM_WORLD, &requests[i]);
        else MPI_Isend(out, i == 1 ? 2 : 1, MPI_INT, 1, 20 + i, MPI_COMM_WORLD, &requests[i]);
    }
    PMPI_Barrier(MPI_COMM_WORLD);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    if (rank) printf("waitall on rank 1: %s\n", of_comm ? "failed" : "fine");
    for (int i = 0; i < 3; i++)
        if (requests[i] != MPI_REQUEST_NULL) printf("request %d is left\n", i);
    if (rank) printf("called %d\n", of_comm);
}

#if MPI_VERSION >= 4
static void session_failed(MPI_Session *session, int *error, ...)
{
    (void)session;
    (void)error;
    of_session++;
}

static void sessions(void)
{
    MPI_Session session;
    MPI_Errhandler handler;
    MPI_Group group;
    MPI_Session_create_errhandler(session_failed, &handler);
    MPI_Session_init(MPI_INFO_NULL, handler, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Group_free(&group);
    say("session");
    MPI_Group_from_session_pset(session, "no such set", &group);
    say("session's mistake");
    MPI_Session_finalize(&session);
    MPI_Errhandler_free(&handler);
}
#else
static void sessions(void) {}
#endif

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    first_calls();
    MPI_Comm_create_errhandler(comm_failed, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    datatypes();
    windows_and_files();
    sessions();
    of_comm = 0;
    too_long();
    MPI_Errhandler_free(&handler);
    MPI_Finalize();
    return 0;
}
