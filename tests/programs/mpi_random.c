/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_random SEED STEPS THREADS: a random program that each rank computes from the seed. Each thread writes a
   log.RANK.THREAD: "call NAME" for each MPI call, followed by the expected events of the archive inside this call.
   "mpi_random_do.h" has the calls, this file the plan. Communicators have the names c0, c1, ... */
#include <mpi.h>
#include <sched.h>
#include <stdarg.h>
#include "program.h"

#define MOST 8 /* ranks */
#define MESSAGES 12
#define REQUESTS 64
#define COMMS 24
#define WORDS 1024

struct comm {
    MPI_Comm handle; /* MPI_COMM_NULL if this rank is no member */
    int id, n, members[MOST], me; /* ranks in MPI_COMM_WORLD; own rank or -1 */
    int cart;        /* a periodic line */
};

struct request {
    MPI_Request handle;
    char kind; /* s: send, r: receive, p: both, c: collective, x: to be cancelled */
    int id, persistent, partitioned, active, peer, tag;
    const struct comm *comm;
    char about[80]; /* expected event at its end */
    double *memory;
};

/* State of one thread. plan yields the same numbers on all ranks, own does not. */
struct agent {
    unsigned plan, own;
    int number, base, steps, n_comms, n_requests, ids, ids_of_requests, round;
    FILE *log;
    struct comm comms[COMMS];
    struct request requests[REQUESTS];
};

static int me, size;
static MPI_Datatype types[4];
static const int type_bytes[4] = {1, 4, 8, 8};
static char bsend_buffer[1 << 20];

static unsigned draw(unsigned *state, unsigned below)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return (*state >> 3) % below;
}

static void note(struct agent *a, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vfprintf(a->log, format, list);
    va_end(list);
    fputc('\n', a->log);
}

/* The log gets the call first: other threads may continue as soon as the call returns. */
#define CALL(name, ...) (note(a, "call %s", #name), name(__VA_ARGS__))

static void must(int truth, const char *what)
{
    if (truth) return;
    fprintf(stderr, "rank %d: %s\n", me, what);
    abort();
}

static void exchange(struct agent *a, const struct comm *c, int wild);

#include "mpi_random_do.h"

/* ---- messages ---- */

/* One round of messages between members of a communicator: first all calls that do not block, then the blocking ones in
   the order of the plan, so that there is no deadlock; then all requests complete. */
static void exchange(struct agent *a, const struct comm *c, int wild)
{
    struct message list[MESSAGES];
    int n = 1 + (int)draw(&a->plan, MESSAGES), to_rank[MOST] = {0};
    for (int i = 0; i < n; i++) {
        struct message *m = &list[i];
        *m = (struct message){.from = (int)draw(&a->plan, (unsigned)c->n), .to = (int)draw(&a->plan, (unsigned)c->n),
                              .tag = a->base + (a->round * MESSAGES + i) % 4096, .type = (int)draw(&a->plan, 4),
                              .count = (int)draw(&a->plan, 3) ? (int)draw(&a->plan, 60) : 0};
        m->send = draw(&a->plan, SENDS);
        m->receive = draw(&a->plan, RECEIVES);
        m->any_source = (int)draw(&a->plan, 2);
        if (m->from == m->to) m->receive = RECEIVE_IRECV;
        partition(m);
        to_rank[m->to]++;
    }
    for (int i = 0; i < n; i++) list[i].any_tag = wild && to_rank[list[i].to] == 1 && list[i].send != SEND_PARTITIONED;
    a->round++;
    if (c->me >= 0) {
        for (int i = 0; i < n; i++) {
            if (list[i].to == c->me) begin_receive(a, c, &list[i]);
            if (list[i].from == c->me) begin_send(a, c, &list[i]);
        }
        for (int i = 0; i < n; i++) {
            if (list[i].from == c->me) wait_send(a, c, &list[i]);
            if (list[i].to == c->me) wait_receive(a, c, &list[i]);
        }
        if (!draw(&a->own, 4)) cancel_one(a, c);
    }
    complete(a);
    if (wild && c->me >= 0) barrier(a, c);
}

/* ---- communicators ---- */

static struct comm *add_comm(struct agent *a, int n, const int *members)
{
    struct comm *c = &a->comms[a->n_comms++];
    *c = (struct comm){.handle = MPI_COMM_NULL, .id = a->number * 1000 + a->ids++, .n = n, .me = -1};
    for (int i = 0; i < n; i++) {
        c->members[i] = members[i];
        if (members[i] == me) c->me = i;
    }
    return c;
}

/* The name of the new communicator in the archive. */
static void name_comm(struct agent *a, struct comm *c)
{
    char name[16];
    snprintf(name, sizeof name, "c%d", c->id);
    if (c->me < 0) return;
    CALL(MPI_Comm_set_name, c->handle, name);
    fprintf(a->log, "comm %s", name);
    for (int i = 0; i < c->n; i++) fprintf(a->log, " %d", c->members[i]);
    fputc('\n', a->log);
}

/* Splits members by even and odd random numbers. Each part becomes a communicator in the table of all ranks. */
static void split(struct agent *a, const struct comm *parent)
{
    int parts[2][MOST], n[2] = {0, 0}, mine = 0;
    MPI_Comm made = MPI_COMM_NULL;
    const struct comm from = *parent;
    for (int i = 0; i < from.n; i++) {
        const int colour = (int)draw(&a->plan, 2);
        parts[colour][n[colour]++] = from.members[i];
        if (from.members[i] == me) mine = colour;
    }
    if (from.me >= 0) CALL(MPI_Comm_split, from.handle, mine, from.me, &made);
    for (int colour = 0; colour < 2; colour++) {
        if (!n[colour]) continue;
        struct comm *c = add_comm(a, n[colour], parts[colour]);
        if (c->me >= 0) c->handle = made;
        name_comm(a, c);
    }
}

/* By a group of some members; collective over all members or over the group. */
static void create(struct agent *a, const struct comm *parent, int by_all)
{
    int ranks[MOST], members[MOST], n = 0;
    MPI_Group all, some;
    const struct comm from = *parent;
    for (int i = 0; i < from.n; i++) {
        if (draw(&a->plan, 3) == 0 && i + 1 < from.n) continue;
        members[n] = from.members[i];
        ranks[n++] = i;
    }
    struct comm *c = add_comm(a, n, members);
    if (from.me < 0 || (!by_all && c->me < 0)) return;
    CALL(MPI_Comm_group, from.handle, &all);
    CALL(MPI_Group_incl, all, n, ranks, &some);
    if (by_all) CALL(MPI_Comm_create, from.handle, some, &c->handle);
    else CALL(MPI_Comm_create_group, from.handle, some, a->base + 5000, &c->handle);
    CALL(MPI_Group_free, &some);
    CALL(MPI_Group_free, &all);
    name_comm(a, c);
}

static void copy(struct agent *a, const struct comm *parent, int how)
{
    const struct comm from = *parent;
    struct comm *c = add_comm(a, from.n, from.members);
    const int periodic = 1;
    c->cart = how == 3;
    if (from.me < 0) return;
    if (how == 0) CALL(MPI_Comm_dup, from.handle, &c->handle);
    else if (how == 1) CALL(MPI_Comm_dup_with_info, from.handle, MPI_INFO_NULL, &c->handle);
    else if (how == 2) {
        MPI_Request request;
        CALL(MPI_Comm_idup, from.handle, &c->handle, &request);
        note(a, "irequest-collective %d", a->ids_of_requests);
        CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
        note(a, "collected %d HANDLE", a->ids_of_requests++);
    } else CALL(MPI_Cart_create, from.handle, 1, &from.n, &periodic, 0, &c->handle);
    name_comm(a, c);
}

/* Two adjacent parts are joined by an inter-communicator and merged. */
static void merge(struct agent *a, const struct comm *parent)
{
    const struct comm from = *parent;
    MPI_Comm part, between;
    if (from.n < 2) return;
    const int cut = 1 + (int)draw(&a->plan, (unsigned)from.n - 1);
    struct comm *c = add_comm(a, from.n, from.members);
    if (from.me < 0) return;
    const int high = from.me >= cut;
    CALL(MPI_Comm_split, from.handle, high, from.me, &part);
    CALL(MPI_Intercomm_create, part, 0, from.handle, high ? 0 : cut, a->base + 5003, &between);
    CALL(MPI_Intercomm_merge, between, high, &c->handle);
    CALL(MPI_Comm_free, &between);
    CALL(MPI_Comm_free, &part);
    name_comm(a, c);
}

static void free_comm(struct agent *a, int which)
{
    struct comm *c = &a->comms[which];
    if (c->me >= 0) {
        note(a, "free c%d", c->id);
        CALL(MPI_Comm_free, &c->handle);
    }
    *c = a->comms[--a->n_comms];
}

static void change_comms(struct agent *a)
{
    const int which = (int)draw(&a->plan, (unsigned)a->n_comms), what = (int)draw(&a->plan, 11);
    if (a->n_comms + 2 > COMMS || (what >= 8 && which)) {
        if (which) free_comm(a, which);
    } else if (what == 0) split(a, &a->comms[which]);
    else if (what == 1) create(a, &a->comms[which], 1);
    else if (what == 2) create(a, &a->comms[which], 0);
    else if (what == 3) merge(a, &a->comms[which]);
    else copy(a, &a->comms[which], what % 4);
}

/* ---- the plan ---- */

/* Open MPI 4.1 and 5.0 hang in some runs if threads create communicators at once (in ompi_comm_nextcid; untraced, too).
   With Open MPI, threads take turns in an order that is the same on all ranks. A thread that has ended has no turn. */
static int threads;
static atomic_int turn = 1, has_ended[4];

static void wait_for_turn(const struct agent *a)
{
#ifdef OPEN_MPI
    for (int now = turn; a->number && now != a->number; now = turn) {
        if (has_ended[now]) atomic_compare_exchange_strong(&turn, &now, now % threads + 1);
        else sched_yield();
    }
#else
    (void)a;
#endif
}

static void pass_turn(const struct agent *a)
{
    if (a->number) turn = a->number % threads + 1;
}

static struct agent agents[4];
static pthread_barrier_t last; /* no thread reuses the location of an ended one */

static void *work(void *argument)
{
    struct agent *a = argument;
    char name[32];
    snprintf(name, sizeof name, "log.%d.%d", me, a->number);
    a->log = fopen(name, a->round ? "a" : "w");
    must(a->log != NULL, "cannot write a log");
    if (!a->round) {
        int mine = me, theirs = -1;
        note(a, "call MPI_Sendrecv\nsend c0 %d %d 4\nreceive c0 %d %d 4", me, a->base, me, a->base);
        MPI_Sendrecv(&mine, 1, MPI_INT, me, a->base, &theirs, 1, MPI_INT, me, a->base, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        a->round = 1;
    }
    for (int i = 0; i < a->steps; i++) {
        const struct comm *c = &a->comms[draw(&a->plan, (unsigned)a->n_comms)];
        const unsigned what = draw(&a->plan, 11);
        if (what < 2) {
            wait_for_turn(a);
            change_comms(a);
            pass_turn(a);
        } else if (what < 6 && a->number && draw(&a->plan, 2)) exchange(a, &agents[0].comms[0], 0);
        else if (what < 6) exchange(a, c, draw(&a->plan, 3) == 0);
        else if (what == 6) shift(a, c);
        else collect(a, c);
    }
    has_ended[a->number] = 1;
    fclose(a->log);
    if (a->number) pthread_barrier_wait(&last);
    return NULL;
}

static void prepare(struct agent *a, int number, unsigned seed, int steps, MPI_Comm comm)
{
    int all[MOST];
    for (int i = 0; i < size; i++) all[i] = i;
    a->number = number;
    a->plan = seed * 2654435761u + (unsigned)number * 97u + 1;
    a->own = a->plan + (unsigned)me * 1013904223u;
    a->base = 1 + number * 8192;
    a->steps = steps;
    add_comm(a, size, all)->handle = comm;
}

/* Open MPI 4.1 prepares topologies at the first one, in any thread, and crashes if two threads do so. */
static void prepare_topologies(void)
{
#ifdef OPEN_MPI
    const int one = 1, no = 0;
    MPI_Comm first;
    PMPI_Cart_create(MPI_COMM_SELF, 1, &one, &no, 0, &first);
    PMPI_Comm_free(&first);
#endif
}

int main(int argc, char **argv)
{
    const unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    const int steps = argc > 2 ? atoi(argv[2]) : 20;
    int provided, attached;
    void *buffer;
    threads = argc > 3 ? atoi(argv[3]) : 0;
    pthread_t started[4];
    MPI_Comm theirs[4];
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    prepare_topologies();
    types[0] = MPI_CHAR, types[1] = MPI_INT, types[2] = MPI_DOUBLE;
    MPI_Type_vector(2, 1, 2, MPI_INT, &types[3]);
    MPI_Type_commit(&types[3]);
    MPI_Buffer_attach(bsend_buffer, sizeof bsend_buffer);
    for (int t = 1; t <= threads; t++) {
        char name[16];
        snprintf(name, sizeof name, "c%d", t * 1000);
        MPI_Comm_dup(MPI_COMM_WORLD, &theirs[t]);
        MPI_Comm_set_name(theirs[t], name);
        prepare(&agents[t], t, seed, steps, theirs[t]);
    }
    prepare(&agents[0], 0, seed, steps, MPI_COMM_WORLD);
    work(&agents[0]);
    if (threads) pthread_barrier_init(&last, NULL, (unsigned)threads);
    for (int t = 1; t <= threads; t++) pthread_create(&started[t], NULL, work, &agents[t]);
    for (int t = 1; t <= threads; t++) pthread_join(started[t], NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Buffer_detach(&buffer, &attached);
    MPI_Finalize();
    return 0;
}
