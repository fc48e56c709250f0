/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations of mpi_random.c: blocking, non-blocking and persistent. */

#define NOWHERE 0xffffffffu

struct collective {
    int mode, in_place, root, count, type, counts[MOST], places[MOST];
    MPI_Request *request;
    const char *name;
    unsigned at; /* the root in the archive */
    unsigned long sent, received;
    double *in, *out;
};

#if PERSISTENT
#define INIT(Name, ...) CALL(MPI_##Name##_init, __VA_ARGS__, MPI_INFO_NULL, x->request)
#define MODES 3
#else
#define INIT(Name, ...) 0
#define MODES 2
#endif
#define DO(Name, name, ...) (x->mode == 0 ? CALL(MPI_##Name, __VA_ARGS__) : \
                             x->mode == 1 ? CALL(MPI_I##name, __VA_ARGS__, x->request) : INIT(Name, __VA_ARGS__))

static void barrier(struct agent *a, const struct comm *c)
{
    CALL(MPI_Barrier, c->handle);
    note(a, "collective BARRIER c%d %u 0 0", c->id, NOWHERE);
}

static void will(struct collective *x, const char *name, unsigned root, unsigned long sent, unsigned long received)
{
    x->name = name;
    x->at = root;
    x->sent = sent;
    x->received = received;
}

static void rooted(struct agent *a, const struct comm *c, struct collective *x, int what)
{
    const int is_root = c->me == x->root, in_place = x->in_place && is_root, root = x->root, n = c->n;
    const unsigned long s = (unsigned long)(x->count * type_bytes[x->type]), others = (unsigned long)(n - in_place);
    const unsigned long mine = (unsigned long)(x->counts[c->me] * type_bytes[x->type]);
    MPI_Datatype t = types[x->type];
    void *in = x->in, *out = x->out;
    unsigned long total = 0;
    for (int i = 0; i < n; i++) total += (unsigned long)(x->counts[i] * type_bytes[x->type]);
    switch (what) {
    case 0:
        DO(Bcast, bcast, in, x->count, t, root, c->handle);
        will(x, "BCAST", (unsigned)root, is_root ? (unsigned long)n * s : 0, s);
        break;
    case 1:
        DO(Gather, gather, in_place ? MPI_IN_PLACE : in, x->count, t, out, x->count, t, root, c->handle);
        will(x, "GATHER", (unsigned)root, in_place ? 0 : s, is_root ? others * s : 0);
        break;
    case 2:
        DO(Scatter, scatter, in, x->count, t, in_place ? MPI_IN_PLACE : out, x->count, t, root, c->handle);
        will(x, "SCATTER", (unsigned)root, is_root ? others * s : 0, in_place ? 0 : s);
        break;
    case 3:
        DO(Gatherv, gatherv, in, x->counts[c->me], t, out, x->counts, x->places, t, root, c->handle);
        will(x, "GATHERV", (unsigned)root, mine, is_root ? total : 0);
        break;
    case 4:
        DO(Scatterv, scatterv, in, x->counts, x->places, t, out, x->counts[c->me], t, root, c->handle);
        will(x, "SCATTERV", (unsigned)root, is_root ? total : 0, mine);
        break;
    default:
        t = x->type == 2 ? MPI_DOUBLE : MPI_INT;
        const unsigned long b = (unsigned long)x->count * (x->type == 2 ? 8 : 4);
        DO(Reduce, reduce, in_place ? MPI_IN_PLACE : in, out, x->count, t, MPI_SUM, root, c->handle);
        will(x, "REDUCE", (unsigned)root, in_place ? 0 : b, is_root ? others * b : 0);
    }
}

static void reducing(struct agent *a, const struct comm *c, struct collective *x, int what)
{
    const unsigned long n = (unsigned long)c->n, r = (unsigned long)c->me, p = (unsigned long)x->in_place;
    MPI_Datatype t = x->type == 2 ? MPI_DOUBLE : MPI_INT;
    const unsigned long word = x->type == 2 ? 8 : 4, b = (unsigned long)x->count * word;
    void *in = x->in_place ? MPI_IN_PLACE : x->in, *out = x->out;
    unsigned long total = 0;
    for (int i = 0; i < c->n; i++) total += (unsigned long)x->counts[i] * word;
    switch (what) {
    case 0:
        DO(Allreduce, allreduce, in, out, x->count, t, MPI_SUM, c->handle);
        will(x, "ALLREDUCE", NOWHERE, (n - p) * b, (n - p) * b);
        break;
    case 1:
        DO(Scan, scan, in, out, x->count, t, MPI_SUM, c->handle);
        will(x, "SCAN", NOWHERE, (n - r - p) * b, (r + 1 - p) * b);
        break;
    case 2:
        DO(Exscan, exscan, x->in, out, x->count, t, MPI_SUM, c->handle);
        will(x, "EXSCAN", NOWHERE, (n - r - 1) * b, r * b);
        break;
    case 3:
        DO(Reduce_scatter, reduce_scatter, x->in, out, x->counts, t, MPI_SUM, c->handle);
        will(x, "REDUCE_SCATTER", NOWHERE, total, n * (unsigned long)x->counts[c->me] * word);
        break;
    default:
        DO(Reduce_scatter_block, reduce_scatter_block, x->in, out, x->count, t, MPI_SUM, c->handle);
        will(x, "REDUCE_SCATTER_BLOCK", NOWHERE, n * b, n * b);
    }
}

static void all_to_all(struct agent *a, const struct comm *c, struct collective *x, int what)
{
    const unsigned long n = (unsigned long)c->n, s = (unsigned long)(x->count * type_bytes[x->type]);
    const unsigned long others = (unsigned long)(c->n - x->in_place);
    MPI_Datatype t = types[x->type], each[MOST];
    int same[MOST], steps[MOST];
    unsigned long total = 0;
    for (int i = 0; i < c->n; i++) {
        total += (unsigned long)(x->counts[i] * type_bytes[x->type]);
        same[i] = x->count;
        steps[i] = 1024 * i;
        each[i] = t;
    }
    if (x->mode && what == 4) what = 3; /* arrays of a non-blocking operation must live until its end */
    switch (what) {
    case 0:
        barrier(a, c);
        DO(Barrier, barrier, c->handle);
        will(x, "BARRIER", NOWHERE, 0, 0);
        break;
    case 1:
        DO(Allgather, allgather, x->in_place ? MPI_IN_PLACE : x->in, x->count, t, x->out, x->count, t, c->handle);
        will(x, "ALLGATHER", NOWHERE, others * s, others * s);
        break;
    case 2:
        DO(Allgatherv, allgatherv, x->in, x->counts[c->me], t, x->out, x->counts, x->places, t, c->handle);
        will(x, "ALLGATHERV", NOWHERE, n * (unsigned long)(x->counts[c->me] * type_bytes[x->type]), total);
        break;
    case 3:
        DO(Alltoall, alltoall, x->in, x->count, t, x->out, x->count, t, c->handle);
        will(x, "ALLTOALL", NOWHERE, n * s, n * s);
        break;
    default:
        if (x->count % 2) CALL(MPI_Alltoallv, x->in, same, x->places, t, x->out, same, x->places, t, c->handle);
        else CALL(MPI_Alltoallw, x->in, same, steps, each, x->out, same, steps, each, c->handle);
        will(x, x->count % 2 ? "ALLTOALLV" : "ALLTOALLW", NOWHERE, n * s, n * s);
    }
}

static void near(struct agent *a, const struct comm *c, struct collective *x, int what)
{
    const unsigned long s = 2ul * (unsigned long)(x->count * type_bytes[x->type]);
    MPI_Datatype t = types[x->type];
    if (what) DO(Neighbor_allgather, neighbor_allgather, x->in, x->count, t, x->out, x->count, t, c->handle);
    else DO(Neighbor_alltoall, neighbor_alltoall, x->in, x->count, t, x->out, x->count, t, c->handle);
    will(x, what ? "ALLGATHER" : "ALLTOALL", NOWHERE, s, s);
}

/* One collective operation of all members. A non-blocking one completes together with later messages. */
static void collect(struct agent *a, const struct comm *c)
{
    static __thread struct collective x;
    const int family = (int)draw(&a->plan, c->cart ? 4 : 3), what = (int)draw(&a->plan, family == 0 ? 6 : 5);
    x = (struct collective){.mode = (int)draw(&a->plan, MODES), .in_place = (int)draw(&a->plan, 2),
                            .root = (int)draw(&a->plan, (unsigned)c->n), .count = 1 + (int)draw(&a->plan, 15),
                            .type = (int)draw(&a->plan, 4)};
    for (int i = 0; i < c->n; i++) {
        x.counts[i] = (int)draw(&a->plan, 16);
        x.places[i] = 16 * i;
    }
    const int more = x.mode && draw(&a->plan, 2), again = x.mode == 2 && draw(&a->plan, 2);
    struct request *r = NULL;
    double *memory = NULL;
    if (c->me >= 0) {
        if (x.mode) r = add_request(a, 'c', c, x.mode == 2);
        else memory = calloc(4 * WORDS, sizeof *memory);
        x.request = r ? &r->handle : NULL;
        x.in = r ? r->memory : memory;
        x.out = x.in + 2 * WORDS;
        (family == 0 ? rooted : family == 1 ? reducing : family == 2 ? all_to_all : near)(a, c, &x, what);
        if (x.mode == 0) note(a, "collective %s c%d %u %lu %lu", x.name, c->id, x.at, x.sent, x.received);
    }
    for (int starts = 0; r && starts <= again; starts++) {
        snprintf(r->about, sizeof r->about, "%s c%d %u %lu %lu", x.name, c->id, x.at, x.sent, x.received);
        r->active = 1;
        start(a, r);
        if (starts) r->id = a->ids_of_requests++;
        note(a, "irequest-collective %d", r->id);
        if (starts < again) end_all(a);
    }
    if (more) exchange(a, c, 0);
    else complete(a);
    free(memory);
}
