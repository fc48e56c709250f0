/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls every function of an MPI on 2 ranks. Each rank writes into a file calls.RANK how often it called each function
   and how many of these calls returned an error. tests/support/build/every_mpi_call.py writes every.h; each function of
   MPI is a macro that counts. "thread": only MPI_Init_thread; "abort": ends by MPI_Abort; "child": is spawned. */
#include <arpa/inet.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "every_names.h"

static int me, peer, size;
static char *program, *child[] = {"child", NULL}, **children[] = {child}, *argument[] = {"name", NULL};
static char **arguments = argument;

static long counts[N_FUNCTIONS], failures[N_FUNCTIONS];
static int did(int function, int result);
#include "every.h"

/* ---- arguments ---- */

static double outs[32][512];
static void *out(int i) { return memset(outs[i], 0, sizeof outs[i]); }

static int sendbuf[4096], recvbuf[4096], attached[16384];
static int zeros[8], ones[8] = {1, 1, 1, 1, 1, 1, 1, 1}, two[] = {2}, zero_one[] = {0, 1, 2, 3};
static int byte_places[] = {0, 4, 8, 12}, graph_index[] = {1, 2}, graph_edges[] = {1, 0}, ranges[1][3] = {{0, 0, 1}};
static int no_distribution = MPI_DISTRIBUTE_NONE, no_argument = MPI_DISTRIBUTE_DFLT_DARG;
static MPI_Aint aints[8], aint_places[] = {0, 1, 2, 3}, aint_byte_places[] = {0, 4, 8, 12};
static MPI_Count big_ones[] = {1, 1, 1, 1}, big_zeros[4], big_two[] = {2};
static MPI_Datatype types[4], type, a_type, contiguous;
static MPI_Comm comm, cart, graph, dist, inter, a_comm;
static MPI_Group group, self_group, peer_group, a_group;
static MPI_Win win, dynamic, shared, a_win;
static MPI_File file, a_file;
static MPI_Info info, a_info, no_info;
static MPI_Request request, pair[2];
static MPI_Message message;
static MPI_Status status;
static MPI_Errhandler errhandler;
static char port[MPI_MAX_PORT_NAME];
static int comm_keyval, type_keyval, win_keyval, keyval, error_class, error_code;
#ifdef HAVE_MPI_Session_init
static MPI_Session session, a_session;
#endif

static void on_comm_error(MPI_Comm *c, int *code, ...) { (void)c, (void)code; }
static void on_file_error(MPI_File *f, int *code, ...) { (void)f, (void)code; }
static void on_win_error(MPI_Win *w, int *code, ...) { (void)w, (void)code; }
#ifdef HAVE_MPI_Session_init
static void on_session_error(MPI_Session *s, int *code, ...) { (void)s, (void)code; }
#endif
static int on_query(void *state, MPI_Status *s)
{
    (void)state;
    MPI_Status_set_elements(s, MPI_INT, 0);
    MPI_Status_set_cancelled(s, 0);
    s->MPI_SOURCE = s->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}
static int on_free(void *state) { return (void)state, MPI_SUCCESS; }
static int on_cancel(void *state, int complete) { return (void)state, (void)complete, MPI_SUCCESS; }
#ifdef HAVE_MPIX_Grequest_start
static int on_poll(void *state, MPI_Status *s) { return (void)state, (void)s, MPI_SUCCESS; }
static int on_wait(int n, void **states, double timeout, MPI_Status *s)
{
    return (void)n, (void)states, (void)timeout, (void)s, MPI_SUCCESS;
}
#endif
static int on_extent(MPI_Datatype t, MPI_Aint *extent, void *state)
{
    (void)t, (void)state;
    *extent = 4;
    return MPI_SUCCESS;
}
static void add(void *in, void *inout, int *n, MPI_Datatype *t) { (void)in, (void)inout, (void)n, (void)t; }
#ifdef HAVE_MPI_Op_create_c
static void add_big(void *in, void *inout, MPI_Count *n, MPI_Datatype *t) { (void)in, (void)inout, (void)n, (void)t; }
#endif

/* ---- code that the calls need ---- */

static int did(int function, int result)
{
    counts[function]++;
    failures[function] += result != MPI_SUCCESS;
    return result;
}

static void finish(MPI_Request *r, int persistent)
{
    if (persistent) MPI_Start(r);
    MPI_Wait(r, MPI_STATUS_IGNORE);
    if (persistent) MPI_Request_free(r);
}

static void open_port(void)
{
    if (me == 0) MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, comm);
}

#ifdef HAVE_MPI_Psend_init
static void begin_partitioned(void)
{
    MPI_Psend_init(sendbuf, 2, 4, MPI_INT, me, 7, comm, MPI_INFO_NULL, &pair[0]);
    MPI_Precv_init(recvbuf, 2, 4, MPI_INT, me, 7, comm, MPI_INFO_NULL, &pair[1]);
    MPI_Startall(2, pair);
}

static void end_partitioned(void)
{
    MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
    MPI_Request_free(&pair[0]);
    MPI_Request_free(&pair[1]);
}
#endif

/* A TCP connection of the two ranks; -1 if it fails. */
static int connected(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    int s = socket(AF_INET, SOCK_STREAM, 0), ok = s >= 0, to = s;
    if (me == 0) {
        ok = ok && !bind(s, (struct sockaddr *)&at, length) && !listen(s, 1) &&
             !getsockname(s, (struct sockaddr *)&at, &length);
        if (!ok) at.sin_port = 0;
    }
    MPI_Bcast(&at, sizeof at, MPI_BYTE, 0, comm);
    if (!at.sin_port || !ok) return -1;
    if (me == 1) return connect(s, (struct sockaddr *)&at, length) ? -1 : s;
    to = accept(s, NULL, NULL);
    close(s);
    return to;
}

#ifdef HAVE_MPI_T_init_thread
static MPI_T_cvar_handle cvar;
static MPI_T_pvar_session pvar_session;
static MPI_T_pvar_handle pvar;
static MPI_T_enum enumeration;
static int cvars, pvars, categories, sources, pvar_class, has_enumeration;
static char variable[256], performance[256], category[256];

static void prepare_tools(void)
{
    int n = sizeof variable, none = 0, x;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &x);
    MPI_T_cvar_get_num(&cvars);
    MPI_T_pvar_get_num(&pvars);
    MPI_T_category_get_num(&categories);
#ifdef HAVE_MPI_T_source_get_num
    MPI_T_source_get_num(&sources);
#endif
    if (cvars) {
        MPI_T_cvar_get_info(0, variable, &n, &x, out(0), out(1), NULL, &none, out(2), out(3));
        cvars = MPI_T_cvar_handle_alloc(0, NULL, &cvar, &x) == MPI_SUCCESS;
    }
    for (int i = 0; i < 500 && !has_enumeration; i++) {
        enumeration = MPI_T_ENUM_NULL;
        n = 0;
        if (MPI_T_cvar_get_info(i, NULL, &n, out(0), out(1), &enumeration, NULL, &none, out(2), out(3))) break;
        has_enumeration = enumeration != MPI_T_ENUM_NULL;
    }
    MPI_T_pvar_session_create(&pvar_session);
    if (pvars) {
        n = sizeof performance;
        MPI_T_pvar_get_info(0, performance, &n, out(0), &pvar_class, out(1), NULL, NULL, &none, out(2), out(3), out(4),
                            out(5));
        pvars = MPI_T_pvar_handle_alloc(pvar_session, 0, NULL, &pvar, &x) == MPI_SUCCESS;
    }
    n = sizeof category;
    if (categories) MPI_T_category_get_info(0, category, &n, NULL, &none, out(0), out(1), out(2));
}
#endif

static void prepare_communicators(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    peer = 1 - me;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Cart_create(comm, 1, two, ones, 0, &cart);
    MPI_Graph_create(comm, 2, graph_index, graph_edges, 0, &graph);
    MPI_Dist_graph_create(comm, 1, &me, ones, &peer, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &dist);
    MPI_Intercomm_create(MPI_COMM_SELF, 0, comm, peer, 3, &inter);
    MPI_Comm_group(comm, &group);
    MPI_Group_incl(group, 1, &me, &self_group);
    MPI_Group_incl(group, 1, &peer, &peer_group);
}

static void prepare(void)
{
    void *base;
    prepare_communicators();
    for (int i = 0; i < 4; i++) types[i] = MPI_INT;
    no_info = MPI_INFO_NULL;
    MPI_Type_dup(MPI_INT, &a_type);
    MPI_Type_contiguous(2, MPI_INT, &contiguous);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_keyval, NULL);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_keyval, NULL);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &win_keyval, NULL);
    MPI_Add_error_class(&error_class);
    MPI_Add_error_code(error_class, &error_code);
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Buffer_attach(attached, sizeof attached);
    MPI_Win_allocate(4096, 1, MPI_INFO_NULL, comm, &base, &win);
    MPI_Win_allocate_shared(4096, 1, MPI_INFO_NULL, comm, &base, &shared);
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &dynamic);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_File_open(comm, "every.file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, 0, sendbuf, 1024, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Sendrecv(sendbuf, 1, MPI_INT, me, 7, recvbuf, 1, MPI_INT, me, 7, comm, &status);
#ifdef HAVE_MPI_Session_init
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
#endif
#ifdef HAVE_MPI_T_init_thread
    prepare_tools();
#endif
}

static void put_away(void)
{
    MPI_Win_free(&win);
    MPI_Win_free(&shared);
    MPI_Win_free(&dynamic);
    MPI_File_close(&file);
    MPI_Comm_free(&cart);
    MPI_Comm_free(&graph);
    MPI_Comm_free(&dist);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&comm);
#ifdef HAVE_MPI_Session_init
    MPI_Session_finalize(&session);
#endif
}

#include "every_calls.h"

static int write_counts(void)
{
    char name[32];
    snprintf(name, sizeof name, "calls.%d", me);
    FILE *to = fopen(name, "w");
    if (!to) return 1;
    for (int i = 0; i < N_FUNCTIONS; i++)
        if (counts[i]) fprintf(to, "%s %ld %ld\n", function_names[i], counts[i], failures[i]);
    return fclose(to);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "all";
    program = argv[0];
    if (!strcmp(mode, "thread")) MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &size);
    else MPI_Init(&argc, &argv);
    if (!strcmp(mode, "abort")) {
        MPI_Comm_rank(MPI_COMM_WORLD, &me);
        MPI_Barrier(MPI_COMM_WORLD);
        if (me == 0) MPI_Abort(MPI_COMM_WORLD, 3);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (!strcmp(mode, "child")) {
        MPI_Comm_get_parent(&a_comm);
        MPI_Comm_disconnect(&a_comm);
    }
    if (!strcmp(mode, "all")) {
        prepare();
        for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
            if (getenv("EVERY_VERBOSE")) fprintf(stderr, "%d %s\n", me, every[i].name);
            every[i].call();
        }
        put_away();
    }
    MPI_Finalize();
    return strcmp(mode, "all") ? 0 : write_counts();
}
