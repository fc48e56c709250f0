/* SPDX-License-Identifier: BSD-3-Clause */
/* The controlled logical clock (Rabenseifner, "The controlled logical clock - a global time for trace based software
   monitoring", 1997; for collectives: Becker, Rabenseifner, Wolf, Linford, "Scalable timestamp synchronization for event
   traces of message-passing applications", 2009): where something would arrive before it was sent, the receiver's clock
   is put forward from there on, and comes back slowly. Clocks take turns as their ends allow: one goes on until it waits
   for another one. What comes of it does not depend on the order of the turns.                                           */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>
#include "repair.h"
#include "table.h"

#define BATCH 64u /* ends of a location in memory */
#define NONE UINT32_MAX

/* One location's ends. */
struct cursor {
    const struct vt_piece *piece, *last; /* last: behind it */
    struct vt_end *ends;
    uint32_t at, n, room, done, process; /* room: in ends; done: of piece */
};

struct clock {
    uint32_t *heap, nheap; /* cursors, the earliest end on top */
    uint32_t next; /* in the list of those that wait for the same, or are ready */
    struct vt_item *waits; /* for */
    int ended;
    uint64_t begin, put; /* how it is put forward now */
    struct vt_knot *knots;
    uint64_t nknots;
};

/* A message, from whichever end is seen first; or a collective. */
struct vt_item {
    uint64_t sent, sent_base; /* when; of a collective: when the last one, and the root, gave */
    uint64_t key[2]; /* of a collective */
    uint64_t root, root_base;
    uint32_t bytes, members, begun, ended; /* of a collective: how many */
    uint32_t waiter; /* first clock that waits */
    uint8_t given, root_given, released, doubtful, op;
    struct vt_item *next;
};

struct queue {
    struct vt_item *first, *last; /* sent and not received, or posted and not sent */
};

struct repair {
    const struct vt_parts *parts;
    struct vt_repaired *result;
    struct cursor *cursors;
    struct clock *clocks;
    uint32_t *heaps, ncursors, ready; /* ready: list of clocks */
    struct vt_item *spare;
    struct vt_table channels, posts, collectives, open, counts, broken;
};

/* ---- Ends in the order of time ---- */

/* The next end of a cursor, NULL behind the last one. */
static const struct vt_end *look(struct cursor *c)
{
    while (c->at == c->n) {
        if (c->piece != c->last && c->done == c->piece->count) {
            c->piece++;
            c->done = 0;
        }
        if (c->piece == c->last) {
            free(c->ends);
            c->ends = NULL;
            return NULL;
        }
        uint32_t left = c->piece->count - c->done;
        if (!c->ends) {
            c->room = left < BATCH && c->piece + 1 == c->last ? left : BATCH;
            c->ends = malloc(c->room * sizeof *c->ends);
            if (!c->ends) return NULL;
        }
        c->n = left < c->room ? left : c->room;
        ssize_t bytes = (ssize_t)(c->n * sizeof *c->ends);
        if (pread((int)c->piece->file, c->ends, (size_t)bytes, (off_t)(c->piece->offset + c->done * sizeof *c->ends)) !=
            bytes)
            return NULL;
        c->done += c->n;
        c->at = 0;
    }
    return &c->ends[c->at];
}

/* Of one moment, what may put the clock forward comes before what tells others the time. */
static int before(const struct repair *r, uint32_t a, uint32_t b)
{
    const struct vt_end *x = &r->cursors[a].ends[r->cursors[a].at], *y = &r->cursors[b].ends[r->cursors[b].at];
    if (x->ns != y->ns) return x->ns < y->ns;
    int tells = (x->what & 15) == VT_END_SEND || (x->what & 15) == VT_END_BEGIN,
        others = (y->what & 15) == VT_END_SEND || (y->what & 15) == VT_END_BEGIN;
    return tells != others ? others : a < b;
}

static void sink(const struct repair *r, struct clock *c, uint32_t at)
{
    for (;;) {
        uint32_t least = at, child = 2 * at + 1;
        if (child < c->nheap && before(r, c->heap[child], c->heap[least])) least = child;
        if (child + 1 < c->nheap && before(r, c->heap[child + 1], c->heap[least])) least = child + 1;
        if (least == at) return;
        uint32_t other = c->heap[at];
        c->heap[at] = c->heap[least];
        c->heap[least] = other;
        at = least;
    }
}

/* ---- Items ---- */

static struct vt_item *new_item(struct repair *r)
{
    struct vt_item *i = r->spare;
    if (i) r->spare = i->next;
    else if (!(i = malloc(sizeof *i))) return NULL;
    memset(i, 0, sizeof *i);
    i->waiter = NONE;
    return i;
}

static void drop_item(struct repair *r, struct vt_item *i)
{
    i->next = r->spare;
    r->spare = i;
}

static void wake(struct repair *r, struct vt_item *i)
{
    while (i->waiter != NONE) {
        struct clock *c = &r->clocks[i->waiter];
        uint32_t clock = i->waiter;
        i->waiter = c->next;
        c->waits = NULL;
        c->next = r->ready;
        r->ready = clock;
    }
}

static int wait_for(struct repair *r, uint32_t clock, struct vt_item *i)
{
    r->clocks[clock].waits = i;
    r->clocks[clock].next = i->waiter;
    i->waiter = clock;
    return 0;
}

/* The queue of messages from one process to another, in a communicator with a tag; made where there is none. */
static struct queue *channel(struct repair *r, uint32_t from, uint32_t to, const struct vt_end *e, uint64_t key[2])
{
    key[0] = (uint64_t)from << 32 | to;
    key[1] = (uint64_t)e->comm << 32 | e->tag;
    struct queue *q = (struct queue *)(uintptr_t)vt_table_get(&r->channels, key[0], key[1]);
    if (q) return q;
    if (!(q = calloc(1, sizeof *q))) return NULL;
    if (vt_table_set(&r->channels, key[0], key[1], (uintptr_t)q)) return q;
    free(q);
    return NULL;
}

static void append(struct queue *q, struct vt_item *i)
{
    if (q->first) q->last->next = i;
    else q->first = i;
    q->last = i;
}

static struct vt_item *take(struct repair *r, struct queue *q, const uint64_t key[2])
{
    struct vt_item *i = q->first;
    q->first = i->next;
    if (!q->first) {
        vt_table_drop(&r->channels, key[0], key[1]);
        free(q);
    }
    return i;
}

/* ---- What a clock shows ---- */

static uint64_t shown(const struct clock *c, uint64_t ns) { return vt_times_put(ns, c->begin, c->put); }

/* What arrives at ns was sent when the sender's clock showed sent, before any clock was put forward at base. */
static int arrive(struct repair *r, struct clock *c, uint64_t ns, uint64_t sent, uint64_t base, int doubtful,
                  uint64_t *reversed)
{
    uint64_t now = shown(c, ns);
    if (base > ns) {
        ++*reversed;
        if (base - ns > r->result->most) r->result->most = base - ns;
    }
    if (now >= sent) return 1;
    if (doubtful && sent - now > r->parts->limit) {
        r->result->ignored++;
        r->result->left++;
        return 1;
    }
    uint64_t put = sent + 1 - ns;
    if (c->nknots && c->knots[c->nknots - 1].ns == ns) c->nknots--;
    if ((c->nknots & (c->nknots - 1)) == 0) { /* a power of two, or none: full */
        struct vt_knot *more = realloc(c->knots, (c->nknots ? 2 * c->nknots : 1) * sizeof *more);
        if (!more) return 0;
        c->knots = more;
    }
    c->knots[c->nknots++] = (struct vt_knot){ns, put};
    c->begin = ns;
    c->put = put;
    if (put > r->result->largest) r->result->largest = put;
    return 1;
}

/* ---- Messages ---- */

static int sent(struct repair *r, struct clock *c, const struct vt_end *e, uint32_t process)
{
    uint64_t key[2];
    struct queue *q = channel(r, process, e->peer, e, key);
    if (!q) return 0;
    struct vt_item *i = q->first && !q->first->given ? take(r, q, key) : new_item(r);
    if (!i) return 0;
    int posted = i->begun != 0;
    i->sent = shown(c, e->ns);
    i->sent_base = e->ns;
    i->given = 1;
    i->bytes = e->what >> 4;
    i->doubtful = r->parts->doubtful[process];
    if (i->released) drop_item(r, i);
    else if (posted) wake(r, i);
    else append(q, i);
    return 1;
}

/* A receive takes its place in the queue. */
static struct vt_item *post(struct repair *r, const struct vt_end *e, uint32_t process)
{
    uint64_t key[2];
    struct queue *q = channel(r, e->peer, process, e, key);
    if (!q) return NULL;
    struct vt_item *i = q->first && q->first->given ? take(r, q, key) : new_item(r);
    if (!i) return NULL;
    i->begun = 1;
    i->next = NULL;
    if (!i->given) append(q, i);
    return i;
}

/* 1: done, 0: the clock must wait, -1: no memory. */
static int received(struct repair *r, uint32_t clock, const struct vt_end *e, uint32_t process, struct vt_item *i)
{
    struct clock *c = &r->clocks[clock];
    if (!i->given && !i->released) return wait_for(r, clock, i);
    r->result->messages++;
    if (i->released) {
        r->result->ignored++;
        return 1; /* it stays in its queue until something is sent */
    }
    int fine = 1;
    if ((e->what >> 4) > i->bytes) r->result->ignored++; /* not the one that was sent */
    else
        fine = arrive(r, c, e->ns, i->sent, i->sent_base, i->doubtful || r->parts->doubtful[process],
                      &r->result->reversed_messages);
    drop_item(r, i);
    return fine ? 1 : -1;
}

/* ---- Collectives ---- */

static struct vt_item *collective(struct repair *r, const struct vt_end *e, uint32_t process)
{
    const uint64_t aside = e->tag & VT_END_ASIDE ? 1ull << 63 : 0, who = (uint64_t)process << 32 | e->comm;
    uint64_t number = vt_table_get(&r->counts, who, aside) + 1;
    if (!vt_table_set(&r->counts, who, aside, number)) return NULL;
    uint64_t key[2] = {e->comm, number | aside};
    struct vt_item *i = (struct vt_item *)(uintptr_t)vt_table_get(&r->collectives, key[0], key[1]);
    if (i) return i;
    if (!(i = new_item(r))) return NULL;
    memcpy(i->key, key, sizeof key);
    i->members = r->parts->comm_first[e->comm + 1] - r->parts->comm_first[e->comm];
    i->op = (uint8_t)(e->tag >> 8);
    return vt_table_set(&r->collectives, key[0], key[1], (uintptr_t)i) ? i : NULL;
}

static int begun(struct repair *r, struct clock *c, const struct vt_end *e, uint32_t process)
{
    struct vt_item *i = collective(r, e, process);
    if (!i || !vt_table_set(&r->open, (uint64_t)process << 1 | 1, e->request, (uintptr_t)i)) return 0;
    uint64_t now = shown(c, e->ns);
    i->begun++;
    i->doubtful |= r->parts->doubtful[process];
    /* Not the same one, or one that others lack. */
    if (i->op != (uint8_t)(e->tag >> 8) || vt_table_get(&r->broken, e->comm, 0)) i->released = 1;
    if (e->tag & VT_END_GIVES && now > i->sent) i->sent = now;
    if (e->tag & VT_END_GIVES && e->ns > i->sent_base) i->sent_base = e->ns;
    if (e->peer == process) {
        i->root_given = 1;
        i->root = now;
        i->root_base = e->ns;
        wake(r, i);
    }
    if (i->begun == i->members || i->released) wake(r, i);
    return 1;
}

static int ended(struct repair *r, uint32_t clock, const struct vt_end *e, uint32_t process, struct vt_item *i)
{
    struct clock *c = &r->clocks[clock];
    const uint32_t flow = e->tag & 3;
    const int takes =
                  e->tag & VT_END_TAKES && flow != VT_FLOW_NONE && (flow != VT_FLOW_FROM_ROOT || e->peer != process),
              from_root = flow == VT_FLOW_FROM_ROOT, whole = i->begun == i->members;
    int fine = 1;
    if (takes && !i->released && !(from_root ? i->root_given : whole)) return wait_for(r, clock, i);
    r->result->collectives++;
    if (i->released) r->result->ignored++;
    else if (takes)
        fine = arrive(r, c, e->ns, from_root ? i->root : i->sent, from_root ? i->root_base : i->sent_base, i->doubtful,
                      &r->result->reversed_collectives);
    vt_table_drop(&r->open, (uint64_t)process << 1 | 1, e->request);
    if (++i->ended == i->members) {
        vt_table_drop(&r->collectives, i->key[0], i->key[1]);
        drop_item(r, i);
    }
    return fine ? 1 : -1;
}

/* ---- The turns ---- */

static struct vt_item *item_of(struct repair *r, uint32_t process, uint64_t kind, uint64_t request)
{
    return (struct vt_item *)(uintptr_t)vt_table_get(&r->open, (uint64_t)process << 1 | kind, request);
}

/* A blocking receive that had to wait has its place already. */
static struct vt_item *own_post(struct repair *r, const struct vt_end *e, uint32_t cursor, uint32_t process)
{
    struct vt_item *i = (struct vt_item *)(uintptr_t)vt_table_get(&r->posts, cursor, 0);
    if (i) vt_table_drop(&r->posts, cursor, 0);
    return i ? i : post(r, e, process);
}

/* 1: done, 0: the clock must wait, -1: no memory. */
static int step(struct repair *r, uint32_t clock, uint32_t cursor, const struct vt_end *e)
{
    struct clock *c = &r->clocks[clock];
    uint32_t process = r->cursors[cursor].process;
    struct vt_item *i;
    switch (e->what & 15) {
    case VT_END_SEND: return sent(r, c, e, process) ? 1 : -1;
    case VT_END_RECEIVE: {
        if (!(i = own_post(r, e, cursor, process))) return -1;
        int code = received(r, clock, e, process, i);
        return code || vt_table_set(&r->posts, cursor, 0, (uintptr_t)i) ? code : -1;
    }
    case VT_END_POST:
        i = post(r, e, process);
        return i && vt_table_set(&r->open, (uint64_t)process << 1, e->request, (uintptr_t)i) ? 1 : -1;
    case VT_END_DONE: {
        if (!(i = item_of(r, process, 0, e->request))) return 1;
        int code = received(r, clock, e, process, i);
        if (code == 1) vt_table_drop(&r->open, (uint64_t)process << 1, e->request);
        return code;
    }
    case VT_END_BEGIN: return begun(r, c, e, process) ? 1 : -1;
    case VT_END_END:
        if (!(i = item_of(r, process, 1, e->request))) return 1;
        return ended(r, clock, e, process, i);
    default: return 1;
    }
}

/* Goes on with a clock until it waits or has no more ends. 0: no memory. */
static int turn(struct repair *r, uint32_t clock)
{
    struct clock *c = &r->clocks[clock];
    while (c->nheap) {
        uint32_t cursor = c->heap[0];
        struct cursor *from = &r->cursors[cursor];
        int code = step(r, clock, cursor, &from->ends[from->at]);
        if (code <= 0) return code == 0;
        from->at++;
        if (!look(from)) c->heap[0] = c->heap[--c->nheap];
        sink(r, c, 0);
    }
    c->ended = 1;
    return 1;
}

/* All wait: something has no other end. The first one goes on without it. 0: none waits. */
static int release(struct repair *r)
{
    for (uint32_t k = 0; k < r->parts->nclocks; k++) {
        struct vt_item *i = r->clocks[k].waits;
        if (!i) continue;
        i->released = 1;
        if (i->members) vt_table_set(&r->broken, i->key[0], 0, 1);
        wake(r, i);
        return 1;
    }
    return 0;
}

static int replay(struct repair *r)
{
    do {
        while (r->ready != NONE) {
            uint32_t clock = r->ready;
            r->ready = r->clocks[clock].next;
            if (!turn(r, clock)) return 0;
        }
    } while (release(r));
    return 1;
}

/* ---- Begin and end ---- */

static int prepare(struct repair *r, const struct vt_piece *pieces, uint64_t n)
{
    const struct vt_parts *parts = r->parts;
    r->cursors = calloc(n + 1, sizeof *r->cursors);
    r->clocks = calloc(parts->nclocks + 1, sizeof *r->clocks);
    r->heaps = calloc(n + 1, sizeof *r->heaps);
    if (!r->cursors || !r->clocks || !r->heaps) return 0;
    for (uint64_t k = 0; k < n;) {
        struct cursor *c = &r->cursors[r->ncursors];
        c->piece = &pieces[k];
        c->process = pieces[k].process;
        do k++;
        while (k < n && pieces[k].process == c->piece->process && pieces[k].location == c->piece->location);
        c->last = &pieces[k];
        r->clocks[parts->clocks[c->process]].nheap += look(c) != NULL;
        r->ncursors++;
    }
    r->ready = NONE;
    uint32_t *heap = r->heaps;
    for (uint64_t k = parts->nclocks; k-- > 0;) {
        struct clock *c = &r->clocks[k];
        c->heap = heap;
        heap += c->nheap;
        c->nheap = 0;
        c->next = r->ready;
        r->ready = (uint32_t)k;
    }
    for (uint32_t k = 0; k < r->ncursors; k++) {
        struct clock *c = &r->clocks[parts->clocks[r->cursors[k].process]];
        if (r->cursors[k].ends) c->heap[c->nheap++] = k;
    }
    for (uint64_t k = 0; k < parts->nclocks; k++)
        for (uint32_t at = r->clocks[k].nheap; at-- > 0;) sink(r, &r->clocks[k], at);
    return 1;
}

static int collect(struct repair *r)
{
    uint64_t n = 0;
    struct vt_repaired *result = r->result;
    result->first = malloc((r->parts->nclocks + 1) * sizeof *result->first);
    for (uint64_t k = 0; k < r->parts->nclocks; k++) n += r->clocks[k].nknots;
    result->knots = malloc((n + 1) * sizeof *result->knots);
    if (!result->first || !result->knots) return 0;
    n = 0;
    for (uint64_t k = 0; k < r->parts->nclocks; k++) {
        result->first[k] = n;
        if (r->clocks[k].nknots)
            memcpy(result->knots + n, r->clocks[k].knots, r->clocks[k].nknots * sizeof *result->knots);
        n += r->clocks[k].nknots;
    }
    result->first[r->parts->nclocks] = n;
    return 1;
}

static void give_back(struct repair *r)
{
    for (uint32_t k = 0; k < r->ncursors; k++) free(r->cursors[k].ends);
    for (uint64_t k = 0; r->clocks && k < r->parts->nclocks; k++) free(r->clocks[k].knots);
    for (uint64_t k = 0; k < r->channels.size; k++) {
        struct queue *q = (struct queue *)(uintptr_t)r->channels.entries[k].value;
        for (struct vt_item *i = q ? q->first : NULL, *next; i; i = next) {
            next = i->next;
            drop_item(r, i);
        }
        free(q);
    }
    for (uint64_t k = 0; k < r->collectives.size; k++)
        if (r->collectives.entries[k].value) drop_item(r, (struct vt_item *)(uintptr_t)r->collectives.entries[k].value);
    for (struct vt_item *i = r->spare, *next; i; i = next) {
        next = i->next;
        free(i);
    }
    vt_table_free(&r->channels);
    vt_table_free(&r->posts);
    vt_table_free(&r->collectives);
    vt_table_free(&r->open);
    vt_table_free(&r->counts);
    vt_table_free(&r->broken);
    free(r->cursors);
    free(r->clocks);
    free(r->heaps);
}

VT_EXPORT int vt_kernel_repair(const struct vt_parts *parts, const struct vt_piece *pieces, uint64_t npieces,
                               struct vt_repaired *result)
{
    struct repair r = {.parts = parts, .result = result};
    memset(result, 0, sizeof *result);
    int good = prepare(&r, pieces, npieces) && replay(&r) && collect(&r);
    give_back(&r);
    if (!good) vt_kernel_repair_free(result);
    return good ? VT_OK : VT_NO_MEMORY;
}

VT_EXPORT void vt_kernel_repair_free(struct vt_repaired *result)
{
    free(result->knots);
    free(result->first);
    result->knots = NULL;
    result->first = NULL;
}
