/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of mpi_random.c and their expected events. The bytes of collectives are written a second time,
   independently of the table in templates/coll.c. */

#define PARTITIONED (MPI_VERSION >= 4) /* Open MPI 5.0 has the functions, but hangs in these programs */
#if defined MPICH_NUMVERSION
#define PERSISTENT (MPICH_NUMVERSION >= 40100000) /* in earlier versions some collectives never end */
#elif defined OMPI_MAJOR_VERSION
#define PERSISTENT (OMPI_MAJOR_VERSION >= 5)
#else
#define PERSISTENT (MPI_VERSION >= 4)
#endif

enum { SEND_SEND, SEND_SSEND, SEND_BSEND, SEND_ISEND, SEND_ISSEND, SEND_IBSEND, SEND_INIT, SEND_BSEND_INIT,
       SEND_PARTITIONED, SENDS };
enum { RECEIVE_RECV, RECEIVE_MRECV, RECEIVE_PROBE, RECEIVE_IMRECV, RECEIVE_IRECV, RECEIVE_INIT, RECEIVE_PARTITIONED,
       RECEIVES };

struct message {
    int from, to, tag, type, count, any_source, any_tag;
    unsigned send, receive;
};

static int bytes_of(const struct message *m) { return m->count * type_bytes[m->type]; }
static int source_of(const struct message *m) { return m->any_source ? MPI_ANY_SOURCE : m->from; }
static int tag_of(const struct message *m) { return m->any_tag ? MPI_ANY_TAG : m->tag; }

/* Both sides of a partitioned message are partitioned, and it has a count. */
static void partition(struct message *m)
{
    if (!PARTITIONED && m->send == SEND_PARTITIONED) m->send = SEND_ISEND;
    if (m->send == SEND_PARTITIONED) {
        m->receive = RECEIVE_PARTITIONED;
        m->any_source = 0;
        m->count = 2 * (m->count / 2 + 1);
    } else if (m->receive == RECEIVE_PARTITIONED) m->receive = RECEIVE_IRECV;
}

static void complete(struct agent *a);

static struct request *add_request(struct agent *a, char kind, const struct comm *c, int persistent)
{
    must(a->n_requests < REQUESTS, "too many requests");
    struct request *r = &a->requests[a->n_requests++];
    *r = (struct request){.handle = MPI_REQUEST_NULL, .kind = kind, .id = a->ids_of_requests++,
                          .persistent = persistent, .active = 1, .comm = c, .peer = -1};
    r->memory = calloc(4 * WORDS, sizeof *r->memory);
    must(r->memory != NULL, "no memory");
    return r;
}

static void start(struct agent *a, struct request *r)
{
    if (r->persistent && draw(&a->own, 2)) CALL(MPI_Start, &r->handle);
    else if (r->persistent) CALL(MPI_Startall, 1, &r->handle);
}

static void begin_send(struct agent *a, const struct comm *c, const struct message *m)
{
    if (m->send < SEND_ISEND) return;
    struct request *r = add_request(a, 's', c, m->send >= SEND_INIT);
    r->partitioned = m->send == SEND_PARTITIONED;
    MPI_Datatype type = types[m->type];
    switch (m->send) {
    case SEND_ISEND: CALL(MPI_Isend, r->memory, m->count, type, m->to, m->tag, c->handle, &r->handle); break;
    case SEND_ISSEND: CALL(MPI_Issend, r->memory, m->count, type, m->to, m->tag, c->handle, &r->handle); break;
    case SEND_IBSEND: CALL(MPI_Ibsend, r->memory, m->count, type, m->to, m->tag, c->handle, &r->handle); break;
    case SEND_INIT: CALL(MPI_Send_init, r->memory, m->count, type, m->to, m->tag, c->handle, &r->handle); break;
    case SEND_BSEND_INIT: CALL(MPI_Bsend_init, r->memory, m->count, type, m->to, m->tag, c->handle, &r->handle); break;
#if PARTITIONED
    default: CALL(MPI_Psend_init, r->memory, 2, m->count / 2, type, m->to, m->tag, c->handle, MPI_INFO_NULL,
                  &r->handle);
#endif
    }
    start(a, r);
    note(a, "isend %d c%d %d %d %d", r->id, c->id, m->to, m->tag, bytes_of(m));
#if PARTITIONED
    if (m->send == SEND_PARTITIONED && draw(&a->own, 2)) CALL(MPI_Pready_range, 0, 1, r->handle);
    else if (m->send == SEND_PARTITIONED) {
        CALL(MPI_Pready, 1, r->handle);
        CALL(MPI_Pready, 0, r->handle);
    }
#endif
}

/* Expected event at the end of a receive. */
static void expect(struct request *r, const struct comm *c, const struct message *m)
{
    r->peer = m->from;
    r->tag = m->tag;
    snprintf(r->about, sizeof r->about, "c%d %d %d %d", c->id, m->from, m->tag, bytes_of(m));
}

static void begin_receive(struct agent *a, const struct comm *c, const struct message *m)
{
    if (m->receive < RECEIVE_IRECV) return;
    struct request *r = add_request(a, 'r', c, m->receive != RECEIVE_IRECV);
    MPI_Datatype type = types[m->type];
    const int room = m->count + (int)draw(&a->own, 3);
    r->partitioned = m->receive == RECEIVE_PARTITIONED;
    expect(r, c, m);
    if (m->receive == RECEIVE_IRECV)
        CALL(MPI_Irecv, r->memory, room, type, source_of(m), tag_of(m), c->handle, &r->handle);
    else if (m->receive == RECEIVE_INIT)
        CALL(MPI_Recv_init, r->memory, room, type, source_of(m), tag_of(m), c->handle, &r->handle);
#if PARTITIONED
    else
        CALL(MPI_Precv_init, r->memory, 2, m->count / 2, type, m->from, m->tag, c->handle, MPI_INFO_NULL, &r->handle);
#endif
    start(a, r);
    note(a, "irequest %d", r->id);
}

static void wait_send(struct agent *a, const struct comm *c, const struct message *m)
{
    static const double memory[WORDS];
    MPI_Datatype type = types[m->type];
    if (m->send == SEND_SEND) CALL(MPI_Send, memory, m->count, type, m->to, m->tag, c->handle);
    else if (m->send == SEND_SSEND) CALL(MPI_Ssend, memory, m->count, type, m->to, m->tag, c->handle);
    else if (m->send == SEND_BSEND) CALL(MPI_Bsend, memory, m->count, type, m->to, m->tag, c->handle);
    else return;
    note(a, "send c%d %d %d %d", c->id, m->to, m->tag, bytes_of(m));
    if (!draw(&a->own, 4)) CALL(MPI_Send, NULL, 0, MPI_INT, MPI_PROC_NULL, m->tag, c->handle);
}

static void check_status(const MPI_Status *s, int from, int tag)
{
    must(s->MPI_SOURCE == from && s->MPI_TAG == tag, "a message arrives that was not expected");
}

static void wait_receive(struct agent *a, const struct comm *c, const struct message *m)
{
    double memory[WORDS];
    MPI_Datatype type = types[m->type];
    MPI_Message message;
    MPI_Status status;
    const int ignore = (int)draw(&a->own, 2);
    if (m->receive >= RECEIVE_IRECV) return;
    if (m->receive == RECEIVE_PROBE)
        CALL(MPI_Probe, source_of(m), tag_of(m), c->handle, &status);
    if (m->receive == RECEIVE_RECV || m->receive == RECEIVE_PROBE) {
        CALL(MPI_Recv, memory, m->count, type, source_of(m), tag_of(m), c->handle, ignore ? MPI_STATUS_IGNORE : &status);
        if (!ignore) check_status(&status, m->from, m->tag);
        note(a, "receive c%d %d %d %d", c->id, m->from, m->tag, bytes_of(m));
        return;
    }
    CALL(MPI_Mprobe, source_of(m), tag_of(m), c->handle, &message, ignore ? MPI_STATUS_IGNORE : &status);
    if (m->receive == RECEIVE_MRECV) { /* its place among the receives is that of the probe */
        const int id = a->ids_of_requests++;
        note(a, "irequest %d", id);
        CALL(MPI_Mrecv, memory, m->count, type, &message, ignore ? MPI_STATUS_IGNORE : &status);
        note(a, "received %d c%d %d %d %d", id, c->id, m->from, m->tag, bytes_of(m));
        return;
    }
    struct request *r = add_request(a, 'r', c, 0);
    expect(r, c, m);
    note(a, "irequest %d", r->id);
    CALL(MPI_Imrecv, r->memory, m->count, type, &message, &r->handle);
}

/* Each member to one neighbour and from another, in one call. */
static void shift(struct agent *a, const struct comm *c)
{
    const unsigned how = draw(&a->plan, PARTITIONED ? 4 : 2);
    const int by = (int)draw(&a->plan, (unsigned)c->n), count = (int)draw(&a->plan, 60), tag = a->base + 5002;
    const int bytes = count * type_bytes[1], to = (c->me + by) % c->n, from = (c->me - by + c->n) % c->n;
    double in[WORDS], out[WORDS] = {0};
    MPI_Status status;
    if (c->me < 0) return;
    if (how == 0) CALL(MPI_Sendrecv, out, count, MPI_INT, to, tag, in, count, MPI_INT, from, tag, c->handle, &status);
    else if (how == 1) CALL(MPI_Sendrecv_replace, out, count, MPI_INT, to, tag, from, tag, c->handle, &status);
    if (how < 2) {
        note(a, "send c%d %d %d %d", c->id, to, tag, bytes);
        note(a, "receive c%d %d %d %d", c->id, from, tag, bytes);
        return;
    }
#if PARTITIONED
    struct request *r = add_request(a, 'p', c, 0);
    double *m = r->memory, *n = m + WORDS;
    if (how == 2) CALL(MPI_Isendrecv, m, count, MPI_INT, to, tag, n, count, MPI_INT, from, tag, c->handle, &r->handle);
    else CALL(MPI_Isendrecv_replace, m, count, MPI_INT, to, tag, from, tag, c->handle, &r->handle);
    note(a, "isend %d c%d %d %d %d", r->id, c->id, to, tag, bytes);
    note(a, "irequest %d", a->ids_of_requests++);
    snprintf(r->about, sizeof r->about, "c%d %d %d %d", c->id, from, tag, bytes);
    complete(a);
#endif
}

static void cancel_one(struct agent *a, const struct comm *c)
{
    struct request *r = add_request(a, 'x', c, 0);
    CALL(MPI_Irecv, r->memory, 1, MPI_INT, MPI_ANY_SOURCE, a->base + 5001, c->handle, &r->handle);
    note(a, "irequest %d", r->id);
    CALL(MPI_Cancel, &r->handle);
}

/* ---- the ends of requests ---- */

static void ended(struct agent *a, struct request *r, const MPI_Status *status)
{
    static const char *const words[] = {['s'] = "sent", ['r'] = "received", ['c'] = "collected", ['x'] = "cancelled"};
    if (!r->active) return;
    if (status && r->kind == 'r' && !r->partitioned) check_status(status, r->peer, r->tag);
    if (r->kind == 'p') note(a, "sent %d\nreceived %d %s", r->id, r->id + 1, r->about);
    else note(a, "%s %d %s", words[(int)r->kind], r->id, r->about);
    r->active = 0;
}

/* Completes some or all of them by one call, also those that ended before; 0: none was active. */
static int end_some(struct agent *a, int how, int ignore)
{
    MPI_Request h[REQUESTS];
    MPI_Status s[REQUESTS];
    int n = a->n_requests, flag = 1, done = 0, which = -1, indices[REQUESTS], active[REQUESTS], n_active = 0;
    for (int i = 0; i < n; i++) {
        const struct request *r = &a->requests[i];
        h[i] = r->handle;
        if (r->active) active[n_active++] = i;
        /* MPI_Testall of MPICH 5.0 fails with these. */
        if (how == 5 && (r->partitioned || (r->kind == 'c' && r->persistent))) how = 7;
    }
    if (!n_active) return 0;
    if (how == 0 || how == 4) which = active[draw(&a->own, (unsigned)n_active)];
    MPI_Status *const all = ignore ? MPI_STATUSES_IGNORE : s, *const one = ignore ? MPI_STATUS_IGNORE : s;
    switch (how) {
    case 0: CALL(MPI_Wait, &h[which], one); break;
    case 1: CALL(MPI_Waitall, n, h, all); break;
    case 2: CALL(MPI_Waitany, n, h, &which, one); break;
    case 3: CALL(MPI_Waitsome, n, h, &done, indices, all); break;
    case 4: CALL(MPI_Test, &h[which], &flag, one); break;
    case 5: CALL(MPI_Testall, n, h, &flag, all); break;
    case 6: CALL(MPI_Testany, n, h, &which, &flag, one); break;
    default: CALL(MPI_Testsome, n, h, &done, indices, all);
    }
    for (int i = 0; i < n; i++) a->requests[i].handle = h[i];
    if (how == 1 || (how == 5 && flag))
        for (int i = 0; i < n; i++) ended(a, &a->requests[i], ignore ? NULL : &s[i]);
    else if (how == 3 || how == 7)
        for (int i = 0; i < done; i++) ended(a, &a->requests[indices[i]], ignore ? NULL : &s[i]);
    else if (how != 5 && flag && which != MPI_UNDEFINED) ended(a, &a->requests[which], ignore ? NULL : s);
    return 1;
}

static void end_all(struct agent *a)
{
    for (int tries = 0; end_some(a, tries > 30 ? 1 : (int)draw(&a->own, 8), (int)draw(&a->own, 2)); tries++) continue;
}

static void complete(struct agent *a)
{
    for (int i = 0; i < a->n_requests; i++) {
        struct request *r = &a->requests[i];
        if (r->kind != 's' || r->persistent || draw(&a->own, 12)) continue;
        note(a, "freed %d", r->id);
        CALL(MPI_Request_free, &r->handle);
        r->active = 0;
        r->memory = NULL; /* may still be read */
    }
    end_all(a);
    for (int i = 0; i < a->n_requests; i++) {
        if (a->requests[i].persistent) CALL(MPI_Request_free, &a->requests[i].handle);
        free(a->requests[i].memory);
    }
    a->n_requests = 0;
}

#include "mpi_random_collect.h"
