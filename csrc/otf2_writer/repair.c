/* SPDX-License-Identifier: BSD-3-Clause */
/* The controlled logical clock (Rabenseifner, "The controlled logical clock - a global time for trace based software
   monitoring", 1997; for collectives: Becker, Rabenseifner, Wolf, Linford, "Scalable timestamp synchronization for
   event traces of message-passing applications", 2009). If a message would arrive before it was sent, the receiver's
   clock is put forward from there on, and then returns slowly. Clocks take turns: a clock advances until it must wait
   for another one. The result does not depend on the order of the turns. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>
#include "containers.h"
#include "repair.h"

#define BATCH 64u /* least number of ends of a location in memory */
#define BATCH_MAX 1024u
#define BATCHES (1u << 17) /* ends of all locations in memory, if there are few locations */
#define NONE UINT32_MAX

/* The position of the replay in the ends of one location. The replay reads the ends in batches. */
struct cursor {
    const struct vt_piece *piece, *last; /* last: end of the last piece */
    struct vt_end *ends; /* in memory; NULL before the first end and after the last end */
    struct vt_item *posted, *alone; /* items of the active blocking receive and blocking collective */
    uint32_t at, n, room, done, process; /* at: of n ends; room: in ends; done: of piece */
};

/* The order of the next ends of cursors. At equal times, ends that may put the clock forward precede ends that show the
   time to others. */
struct next {
    uint64_t moment; /* ns * 2, + 1 if the end shows the time */
    uint32_t cursor;
};

struct clock {
    struct next *heap; /* heap, the earliest on top */
    uint32_t nheap;
    uint32_t next; /* in the list of the clocks that wait for one item, or are ready */
    struct vt_item *waits; /* item that the clock waits for */
    int ended;
    uint64_t begin, put; /* the clock was put forward by `put` ns at time `begin` */
    uint64_t showed; /* ns + 1 of the latest end that showed the time to others */
    struct vt_knot *knots;
    uint64_t nknots;
};

/* A message, made at the end that is seen first; or a collective. */
struct vt_item {
    struct vt_link link; /* link of a message in its channel, or of a spare item */
    uint64_t sent, sent_base; /* times; for a collective: when the last process, and the root, gave data */
    uint64_t key[2]; /* key of a collective */
    uint64_t root, root_base;
    uint32_t bytes, members, begun, ended; /* of a collective: numbers of processes */
    uint32_t waiter; /* first clock that waits for the item */
    uint8_t given, root_given, released, doubtful, op;
    struct vt_item *made; /* the item that was made before this one */
    struct begin *begins; /* for a prefix, by rank; in the first `known` entries: the latest time of this rank and all
                             lower ranks */
    uint32_t known, held; /* held: clocks that wait in begins */
};

struct begin {
    uint64_t shown, base; /* shown: time + 1 while the entry is in an item */
    uint32_t waiter; /* number + 1 of the clock that waits for this rank and all lower ranks */
};

struct repair {
    const struct vt_parts *parts;
    struct vt_repaired *result;
    struct cursor *cursors;
    struct clock *clocks;
    struct next *heaps;
    uint32_t ncursors, ready, batch; /* ready: list of clocks; batch: ends of a location in memory */
    uint32_t first; /* all clocks before this one have ended */
    struct vt_link *spare;
    struct vt_item *made; /* all items, the latest first, to free them */
    struct vt_channels channels; /* sent and not received, or posted and not sent */
    struct vt_pair_table collectives, open, counts, broken;
    int failed; /* error of reading ends */
};

/* ---- Ends in the order of time ---- */

static int give_up(struct cursor *c, int code)
{
    free(c->ends);
    c->ends = NULL;
    return code;
}

/* If at equals n: reads up to `batch` further ends. Returns VT_OK, VT_NO_MEMORY, or VT_NO_SPACE if the file cannot be
   read; after an error there are no ends. */
static int fill(struct cursor *c, uint32_t batch)
{
    while (c->at == c->n) {
        if (c->piece != c->last && c->done == c->piece->count) {
            c->piece++;
            c->done = 0;
        }
        if (c->piece == c->last) return give_up(c, VT_OK);
        const uint32_t left = c->piece->count - c->done;
        if (!c->ends) {
            c->room = left < batch && c->piece + 1 == c->last ? left : batch;
            c->ends = malloc(c->room * sizeof *c->ends);
            if (!c->ends) return VT_NO_MEMORY;
        }
        c->n = left < c->room ? left : c->room;
        const size_t bytes = c->n * sizeof *c->ends;
        const off_t place = (off_t)(c->piece->offset + c->done * sizeof *c->ends);
        if (pread((int)c->piece->file, c->ends, bytes, place) != (ssize_t)bytes) return give_up(c, VT_NO_SPACE);
        c->done += c->n;
        c->at = 0;
    }
    return VT_OK;
}

/* Returns the next end of a cursor; NULL after the last end, and after an error. */
static struct vt_end *look(struct repair *r, struct cursor *c)
{
    const int code = c->at == c->n ? fill(c, r->batch) : VT_OK;
    if (code) r->failed = code;
    return c->ends ? &c->ends[c->at] : NULL;
}

static struct next next_of(const struct vt_end *e, uint32_t cursor)
{
    const uint32_t kind = e->what & 15;
    return (struct next){e->ns << 1 | (kind == VT_END_SEND || kind == VT_END_BEGIN), cursor};
}

static int before(struct next x, struct next y)
{
    return x.moment != y.moment ? x.moment < y.moment : x.cursor < y.cursor;
}

/* Moves a cursor down the heap from a place. */
static void sink(struct clock *c, uint32_t at, struct next one)
{
    for (uint32_t child; (child = 2 * at + 1) < c->nheap; at = child) {
        child += child + 1 < c->nheap && before(c->heap[child + 1], c->heap[child]);
        if (before(one, c->heap[child])) break;
        c->heap[at] = c->heap[child];
    }
    c->heap[at] = one;
}

/* ---- Items ---- */

static struct vt_item *new_item(struct repair *r)
{
    struct vt_item *i = (struct vt_item *)r->spare;
    if (i) r->spare = r->spare->next;
    else {
        if (!(i = malloc(sizeof *i))) return NULL;
        i->made = r->made;
        r->made = i;
    }
    *i = (struct vt_item){.waiter = NONE, .made = i->made};
    return i;
}

static void drop_item(struct repair *r, struct vt_item *i)
{
    i->link.next = r->spare;
    r->spare = &i->link;
}

static void make_ready(struct repair *r, uint32_t clock)
{
    r->clocks[clock].waits = NULL;
    r->clocks[clock].next = r->ready;
    r->ready = clock;
}

/* Wakes the clocks of a prefix that wait for the BEGIN of some ranks. */
static void wake_ranks(struct repair *r, struct vt_item *i, uint32_t from, uint32_t to)
{
    for (uint32_t k = from; i->held && k < to; k++) {
        if (!i->begins[k].waiter) continue;
        make_ready(r, i->begins[k].waiter - 1);
        i->begins[k].waiter = 0;
        i->held--;
    }
}

static void wake(struct repair *r, struct vt_item *i)
{
    wake_ranks(r, i, i->known, i->members);
    while (i->waiter != NONE) {
        const uint32_t clock = i->waiter;
        i->waiter = r->clocks[clock].next;
        make_ready(r, clock);
    }
}

static int wait_for(struct repair *r, uint32_t clock, struct vt_item *i)
{
    r->clocks[clock].waits = i;
    r->clocks[clock].next = i->waiter;
    i->waiter = clock;
    return 0;
}

/* Returns the message of a channel whose partner came first; else a new message. given: the partner gave, or waits. */
static struct vt_item *partner_or_new(struct repair *r, struct vt_queue *q, int given)
{
    const struct vt_item *first = (const struct vt_item *)q->first;
    return first && first->given == given ? (struct vt_item *)vt_queue_take(q) : new_item(r);
}

/* ---- The times that a clock shows ---- */

static uint64_t shown(const struct clock *c, uint64_t ns) { return vt_times_put(ns, c->begin, c->put); }

static uint64_t show(struct clock *c, uint64_t ns)
{
    c->showed = ns + 1;
    return shown(c, ns);
}

/* Puts the clock forward if a message arrives at ns that the sender sent when its clock showed `sent`. base: ns and
   `sent` before any clock was put forward. */
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
    if (c->showed == ns + 1) { /* others have the time of this moment from before the clock was put forward */
        r->result->ignored++;
        r->result->left++;
    }
    uint64_t put = sent + 1 - ns;
    if (c->nknots && c->knots[c->nknots - 1].ns == ns) c->nknots--;
    if (!VT_ROOM_FOR_NEXT(c->knots, c->nknots)) return 0;
    c->knots[c->nknots++] = (struct vt_knot){ns, put};
    c->begin = ns;
    c->put = put;
    if (put > r->result->largest) r->result->largest = put;
    return 1;
}

/* ---- Messages ---- */

static int sent(struct repair *r, struct clock *c, const struct vt_end *e, uint32_t process)
{
    struct vt_queue *q = vt_channels_get(&r->channels, process, e->peer, e->comm, e->tag);
    if (!q) return 0;
    struct vt_item *i = partner_or_new(r, q, 0);
    if (!i) return 0;
    int posted = i->begun != 0;
    i->sent = show(c, e->ns);
    i->sent_base = e->ns;
    i->given = 1;
    i->bytes = e->what >> 4;
    i->doubtful = r->parts->doubtful[process];
    if (i->released) drop_item(r, i);
    else if (posted) wake(r, i);
    else vt_queue_append(q, &i->link);
    return 1;
}

/* Puts a receive into the queue. */
static struct vt_item *post(struct repair *r, const struct vt_end *e, uint32_t process)
{
    struct vt_queue *q = vt_channels_get(&r->channels, e->peer, process, e->comm, e->tag);
    if (!q) return NULL;
    struct vt_item *i = partner_or_new(r, q, 1);
    if (!i) return NULL;
    i->begun = 1;
    if (!i->given) vt_queue_append(q, &i->link);
    return i;
}

/* Returns 1: done, 0: the clock must wait, -1: no memory. */
static int received(struct repair *r, uint32_t clock, const struct vt_end *e, uint32_t process, struct vt_item *i)
{
    struct clock *c = &r->clocks[clock];
    if (!i->given && !i->released) return wait_for(r, clock, i);
    r->result->messages++;
    if (i->released) {
        r->result->ignored++;
        return 1; /* the receive stays in its queue until a message is sent */
    }
    int fine = 1;
    if ((e->what >> 4) > i->bytes) r->result->ignored++; /* not the message that was sent */
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
    uint64_t *count = vt_pair_table_find(&r->counts, who, aside);
    const uint64_t number = count ? ++*count : 1;
    if (!count && !vt_pair_table_set(&r->counts, who, aside, number)) return NULL;
    const uint64_t key[2] = {e->comm, number | aside};
    struct vt_item *i = (struct vt_item *)(uintptr_t)vt_pair_table_get(&r->collectives, key[0], key[1]);
    if (i) return i;
    if (!(i = new_item(r))) return NULL;
    memcpy(i->key, key, sizeof key);
    i->members = r->parts->comm_first[e->comm + 1] - r->parts->comm_first[e->comm];
    i->op = (uint8_t)(e->tag >> 8);
    return vt_pair_table_set(&r->collectives, key[0], key[1], (uintptr_t)i) ? i : NULL;
}

/* A prefix (Scan): a rank waits for all lower ranks. */
static int begun_in_order(struct vt_item *i, const struct vt_end *e, uint64_t now)
{
    if (!i->begins && !(i->begins = calloc(i->members, sizeof *i->begins))) return 0;
    if (e->peer >= i->members) return 1;
    i->begins[e->peer].shown = now + 1;
    i->begins[e->peer].base = e->ns;
    for (; i->known < i->members && i->begins[i->known].shown; i->known++) {
        struct begin *b = &i->begins[i->known];
        if (!i->known) continue;
        if (b[-1].shown > b->shown) b->shown = b[-1].shown;
        if (b[-1].base > b->base) b->base = b[-1].base;
    }
    return 1;
}

static void drop_collective(struct repair *r, struct vt_item *i)
{
    free(i->begins);
    i->begins = NULL;
    drop_item(r, i);
}

static int begun(struct repair *r, struct clock *c, struct cursor *from, const struct vt_end *e)
{
    const uint32_t process = from->process;
    struct vt_item *i = collective(r, e, process);
    if (!i) return 0;
    if (!(e->tag & VT_END_ASIDE)) from->alone = i;
    else if (!vt_pair_table_set(&r->open, (uint64_t)process << 1 | 1, e->request, (uintptr_t)i)) return 0;
    uint64_t now = show(c, e->ns);
    const int prefix = (e->tag & VT_END_FLOW) == VT_FLOW_PREFIX;
    const uint32_t known = i->known;
    i->begun++;
    i->doubtful |= r->parts->doubtful[process];
    if (prefix && !begun_in_order(i, e, now)) return 0;
    /* The collective differs from that of the others, or the others lack it. */
    if (i->op != (uint8_t)(e->tag >> 8) || vt_pair_table_get(&r->broken, e->comm, 0)) i->released = 1;
    if (e->tag & VT_END_GIVES && now > i->sent) i->sent = now;
    if (e->tag & VT_END_GIVES && e->ns > i->sent_base) i->sent_base = e->ns;
    if (prefix) wake_ranks(r, i, known, i->known);
    else if (e->peer == process) {
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
    const uint32_t flow = e->tag & VT_END_FLOW;
    struct begin from = {i->sent, i->sent_base, 0};
    int ready = i->begun == i->members, fine = 1, takes = e->tag & VT_END_TAKES && flow != VT_FLOW_NONE;
    if (flow == VT_FLOW_FROM_ROOT) {
        takes &= e->peer != process;
        ready = i->root_given;
        from = (struct begin){i->root, i->root_base, 0};
    } else if (flow == VT_FLOW_PREFIX) {
        takes &= e->peer < i->members;
        ready = e->peer < i->known;
        if (ready) from = (struct begin){i->begins[e->peer].shown - 1, i->begins[e->peer].base, 0};
        else if (takes && !i->released && i->begins && !i->begins[e->peer].waiter) {
            i->begins[e->peer].waiter = clock + 1;
            i->held++;
            c->waits = i;
            return 0;
        }
    }
    if (takes && !i->released && !ready) return wait_for(r, clock, i);
    r->result->collectives++;
    if (i->released) r->result->ignored++;
    else if (takes) fine = arrive(r, c, e->ns, from.shown, from.base, i->doubtful, &r->result->reversed_collectives);
    /* In damaged files, processes that are not members may begin the collective, too, and still refer to it. */
    if (++i->ended >= i->members && i->ended >= i->begun) {
        vt_pair_table_drop(&r->collectives, i->key[0], i->key[1]);
        drop_collective(r, i);
    }
    return fine ? 1 : -1;
}

/* ---- The turns ---- */

static struct vt_item *item_of(struct repair *r, uint32_t process, uint64_t kind, uint64_t request)
{
    return (struct vt_item *)(uintptr_t)vt_pair_table_get(&r->open, (uint64_t)process << 1 | kind, request);
}

/* Returns 1: done, 0: the clock must wait, -1: no memory. */
static int step(struct repair *r, uint32_t clock, uint32_t cursor, const struct vt_end *e)
{
    struct clock *c = &r->clocks[clock];
    struct cursor *from = &r->cursors[cursor];
    const uint32_t process = from->process;
    struct vt_item *i;
    int code;
    switch (e->what & 15) {
    case VT_END_SEND: return sent(r, c, e, process) ? 1 : -1;
    case VT_END_RECEIVE: /* a receive that had to wait is in the queue already */
        if (!from->posted && !(from->posted = post(r, e, process))) return -1;
        code = received(r, clock, e, process, from->posted);
        if (code == 1) from->posted = NULL;
        return code;
    case VT_END_POST:
        i = post(r, e, process);
        return i && vt_pair_table_set(&r->open, (uint64_t)process << 1, e->request, (uintptr_t)i) ? 1 : -1;
    case VT_END_DONE:
        if (!(i = item_of(r, process, 0, e->request))) return 1;
        code = received(r, clock, e, process, i);
        if (code == 1) vt_pair_table_drop(&r->open, (uint64_t)process << 1, e->request);
        return code;
    case VT_END_BEGIN: return begun(r, c, from, e) ? 1 : -1;
    case VT_END_END:
        i = e->tag & VT_END_ASIDE ? item_of(r, process, 1, e->request) : from->alone;
        if (!i) return 1;
        code = ended(r, clock, e, process, i);
        if (code == 1 && i == from->alone) from->alone = NULL;
        else if (code == 1) vt_pair_table_drop(&r->open, (uint64_t)process << 1 | 1, e->request);
        return code;
    default: return 1;
    }
}

/* The BEGIN of a blocking collective that has the time of its END becomes the END. */
static int is_whole(const struct vt_end *e)
{
    return (e->what & 15) == VT_END_BEGIN && !(e->tag & VT_END_ASIDE) && e->request;
}

/* Advances a clock until the clock waits or has no more ends. Returns 0 if there is no memory. */
static int turn(struct repair *r, uint32_t clock)
{
    struct clock *c = &r->clocks[clock];
    while (c->nheap) {
        const uint32_t cursor = c->heap[0].cursor;
        struct cursor *from = &r->cursors[cursor];
        struct vt_end *e = &from->ends[from->at];
        int code = step(r, clock, cursor, e);
        if (code <= 0) return code == 0;
        if (is_whole(e)) {
            e->ns = e->request;
            e->what = VT_END_END;
            sink(c, 0, next_of(e, cursor));
            continue;
        }
        from->at++;
        e = look(r, from);
        if (e) sink(c, 0, next_of(e, cursor));
        else if (--c->nheap) sink(c, 0, c->heap[c->nheap]);
    }
    c->ended = 1;
    return 1;
}

/* All clocks wait, so an end has no partner. The first clock continues without the partner. Returns 0 if no clock
   waits. */
static int release(struct repair *r)
{
    while (r->first < r->parts->nclocks && r->clocks[r->first].ended) r->first++;
    if (r->first == r->parts->nclocks) return 0;
    struct vt_item *i = r->clocks[r->first].waits;
    i->released = 1;
    if (i->members) vt_pair_table_set(&r->broken, i->key[0], 0, 1);
    wake(r, i);
    return 1;
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

/* ---- Start and end ---- */

static int prepare(struct repair *r, const struct vt_piece *pieces, uint64_t n)
{
    const struct vt_parts *parts = r->parts;
    uint64_t locations = 0;
    for (uint64_t k = 0; k < n; k++)
        locations += !k || pieces[k].process != pieces[k - 1].process || pieces[k].location != pieces[k - 1].location;
    r->batch = locations * BATCH_MAX < BATCHES ? BATCH_MAX : locations * BATCH < BATCHES ? BATCHES / locations : BATCH;
    r->cursors = calloc(locations + 1, sizeof *r->cursors);
    r->clocks = calloc(parts->nclocks + 1, sizeof *r->clocks);
    r->heaps = calloc(locations + 1, sizeof *r->heaps);
    if (!r->cursors || !r->clocks || !r->heaps) return 0;
    for (uint64_t k = 0; k < n;) {
        struct cursor *c = &r->cursors[r->ncursors];
        c->piece = &pieces[k];
        c->process = pieces[k].process;
        do k++;
        while (k < n && pieces[k].process == c->piece->process && pieces[k].location == c->piece->location);
        c->last = &pieces[k];
        r->clocks[parts->clocks[c->process]].nheap += look(r, c) != NULL;
        r->ncursors++;
    }
    r->ready = NONE;
    struct next *heap = r->heaps;
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
        if (r->cursors[k].ends) c->heap[c->nheap++] = next_of(r->cursors[k].ends, k);
    }
    for (uint64_t k = 0; k < parts->nclocks; k++)
        for (uint32_t at = r->clocks[k].nheap; at-- > 0;) sink(&r->clocks[k], at, r->clocks[k].heap[at]);
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
    vt_channels_free(&r->channels);
    /* Some items are only in queues, or belong to requests that never ended. */
    for (struct vt_item *i = r->made, *next; i; i = next) {
        next = i->made;
        free(i->begins);
        free(i);
    }
    vt_pair_table_free(&r->collectives);
    vt_pair_table_free(&r->open);
    vt_pair_table_free(&r->counts);
    vt_pair_table_free(&r->broken);
    free(r->cursors);
    free(r->clocks);
    free(r->heaps);
}

VT_EXPORT int vt_kernel_repair(const struct vt_parts *parts, const struct vt_piece *pieces, uint64_t npieces,
                               struct vt_repaired *result)
{
    struct repair r = {.parts = parts, .result = result};
    memset(result, 0, sizeof *result);
    int good = prepare(&r, pieces, npieces) && replay(&r) && !r.failed && collect(&r);
    give_back(&r);
    if (!good) vt_kernel_repair_free(result);
    return good ? VT_OK : r.failed ? r.failed : VT_NO_MEMORY;
}

VT_EXPORT void vt_kernel_repair_free(struct vt_repaired *result)
{
    free(result->knots);
    free(result->first);
    result->knots = NULL;
    result->first = NULL;
}
