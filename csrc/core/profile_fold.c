/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the records of a full chunk by call path, for VT_MODE=PROFILE. A reader of a dead process's buffer continues
   after the last counted record of the chunk: the number of calls and the mark of an open call are one word, and the
   times of a call are stored before it. */
#define _GNU_SOURCE
#include <string.h>
#include "location.h"

static inline void order(void) { atomic_signal_fence(memory_order_seq_cst); }

/* ---- Calls ---- */

static __attribute__((noinline)) void enter_beyond(struct vt_profile *t, uint64_t what)
{
    if (t->beyond < VT_PROFILE_BEYOND) t->beyond_whats[t->beyond] = what;
    t->beyond++;
    VT_SET(t->stack[0]->turns, t->stack[0]->turns + 2);
}

static inline void enter(struct vt_location *l, struct vt_profile *t, uint64_t what, uint64_t now)
{
    struct vt_profile_row *around = t->stack[t->depth], *row = NULL;
    if (VT_LIKELY(!t->beyond && t->depth < VT_PROFILE_DEPTH)) {
        row = t->stack[t->depth + 1];
        if (!row || row->what != what || row->parent != around->number) row = vt_profile_row(l, around, what);
    }
    if (VT_UNLIKELY(!row)) {
        enter_beyond(t, what);
        return;
    }
    VT_SET(row->entered, now);
    order();
    VT_SET(row->turns, row->turns + 1);
    t->stack[++t->depth] = row;
}

/* Ends the innermost call. */
static inline void end_call(struct vt_profile *t, uint64_t now)
{
    struct vt_profile_row *row = t->stack[t->depth--];
    const uint64_t ticks = now > row->entered ? now - row->entered : 0;
    vt_profile_add_time(row, ticks);
    order();
    VT_SET(row->turns, row->turns + 1);
}

/* Ends all calls above a depth. */
static void end_above(struct vt_profile *t, uint32_t depth, uint64_t now)
{
    t->beyond = 0;
    while (t->depth > depth) end_call(t, now);
}

/* A leave also ends all calls inside its own, as in replay.c. */
static __attribute__((noinline)) void leave_outer(struct vt_profile *t, uint64_t what, uint64_t now)
{
    if (t->beyond > VT_PROFILE_BEYOND) {
        t->beyond--;
        return;
    }
    for (uint32_t i = t->beyond; i > 0; i--)
        if (t->beyond_whats[i - 1] == what) {
            t->beyond = i - 1;
            return;
        }
    for (uint32_t i = t->depth; i > 0; i--)
        if (t->stack[i]->what == what) {
            end_above(t, i - 1, now);
            return;
        }
}

static inline void leave(struct vt_profile *t, uint64_t what, uint64_t now)
{
    if (VT_LIKELY(!t->beyond && t->depth && t->stack[t->depth]->what == what)) end_call(t, now);
    else leave_outer(t, what, now);
}

static uint64_t region(uint32_t id) { return VT_WHAT(VT_K_ENTER, 0, id); }

/* ---- Teams of threads: as csrc/otf2_writer/team.c ---- */

static struct vt_profile_team *top(struct vt_profile *t) { return t->nteams ? &t->teams[t->nteams - 1] : NULL; }

static void close_top(struct vt_profile *t, uint64_t now) { end_above(t, t->teams[--t->nteams].depth, now); }

static void push(struct vt_profile *t, uint32_t nesting, int is_fork)
{
    if (t->nteams == VT_PROFILE_TEAMS) return;
    t->teams[t->nteams++] = (struct vt_profile_team){.nesting = nesting, .depth = t->depth, .is_fork = is_fork};
}

static void close_stale(struct vt_profile *t, uint32_t nesting, int fork_stays, uint64_t now)
{
    for (struct vt_profile_team *e; (e = top(t)) && e->nesting >= nesting;) {
        if (e->nesting == nesting && e->is_fork && fork_stays) return;
        close_top(t, now);
    }
}

/* Ends a worker's wait at ticks; 0: now. */
static void end_wait(struct vt_profile *t, uint64_t ticks, uint64_t now)
{
    if (top(t) && top(t)->waits) close_top(t, ticks && ticks < now ? ticks : now);
}

static void team(struct vt_location *l, uint32_t what, const uint64_t *w, uint64_t now)
{
    struct vt_profile *t = l->profile;
    struct vt_profile_team *e = top(t);
    const uint32_t low = (uint32_t)w[0], high = (uint32_t)(w[0] >> 32);
    switch (VT_KIND(what)) {
    case VT_K_THREAD_FORK:
        close_stale(t, high, 0, now);
        push(t, high, 1);
        enter(l, t, region(VT_ID(what)), now);
        break;
    case VT_K_THREAD_JOIN:
        close_stale(t, low, 1, now);
        if ((e = top(t)) && e->is_fork && e->nesting == low) close_top(t, now);
        break;
    case VT_K_THREAD_TEAM_BEGIN:
        end_wait(t, w[1], now);
        close_stale(t, high, 1, now);
        push(t, high, 0);
        if (low) enter(l, t, region(low), now);
        break;
    case VT_K_THREAD_TEAM_END:
        if (!e || e->is_fork || e->nesting != low) break;
        e->waits = 1;
        enter(l, t, region(VT_ID(what)), now);
        break;
    case VT_K_THREAD_TEAM_JOINED: end_wait(t, w[0], now); break;
    case VT_K_THREAD_TASK_BEGIN: enter(l, t, region(VT_ID(what)), now); break;
    case VT_K_THREAD_TASK_END: leave(t, region(VT_ID(what)), now); break;
    default: break;
    }
}

/* ---- Bytes ---- */

static void add_bytes(struct vt_profile *t, uint64_t out, uint64_t in)
{
    struct vt_profile_row *row = t->stack[t->depth];
    if (out != VT_IO_UNKNOWN) row->out += out;
    if (in != VT_IO_UNKNOWN) row->in += in;
}

static void see_heap(struct vt_profile *t, uint64_t bytes)
{
    struct vt_profile_row *outside = t->stack[0];
    if ((int64_t)bytes > (int64_t)outside->most) outside->most = bytes;
}

/* Adds the bytes that a record states to the innermost call; w: the words after the first one. */
static void bytes(struct vt_profile *t, uint32_t what, const uint64_t *w)
{
    switch (VT_KIND(what)) {
    case VT_K_SEND:
    case VT_K_ISEND:
    case VT_K_RMA_PUT:
    case VT_K_USER_SEND: add_bytes(t, w[1], 0); break;
    case VT_K_RECV:
    case VT_K_IRECV:
    case VT_K_RMA_GET:
    case VT_K_USER_RECV: add_bytes(t, 0, w[1]); break;
    case VT_K_COLL_END:
    case VT_K_COLL_COMPLETE:
    case VT_K_RMA_ATOMIC: add_bytes(t, w[1], w[2]); break;
    case VT_K_RMA_COLL_END: add_bytes(t, w[2], w[3]); break;
    case VT_K_IO_BEGIN: t->writes = (uint32_t)w[0] == 1; break;
    case VT_K_IO_READ: t->writes = 0; break;
    case VT_K_IO_WRITE: t->writes = 1; break;
    case VT_K_IO_DONE:
    case VT_K_IO_COMPLETE: add_bytes(t, t->writes ? w[0] : 0, t->writes ? 0 : w[0]); break;
    case VT_K_ENTER_ALLOC: add_bytes(t, w[0], 0); break;
    case VT_K_ENTER_FREE: add_bytes(t, 0, w[1]); break;
    case VT_K_ENTER_REALLOC: add_bytes(t, w[2], w[1]); break;
    case VT_K_LEAVE_ALLOC: see_heap(t, w[1]); break;
    case VT_K_HEAP: see_heap(t, w[0]); break;
    default: break;
    }
}

/* ---- Records ---- */

#define WITH_BYTES                                                                                                     \
    (VT_CLASS_MESSAGE | VT_CLASS_COLLECTIVE | VT_CLASS_RMA | VT_CLASS_IO | VT_CLASS_MEMORY | VT_CLASS_USER)

/* Adds up the time while recording is off. */
static void switched(struct vt_profile_row *outside, int off, uint64_t now)
{
    if (!off && outside->squares[0]) outside->ticks += now - outside->squares[0];
    outside->squares[0] = off ? now : 0;
}

/* A record that is not a function event. w: the words after the first one. */
static void other(struct vt_location *l, uint32_t what, const uint64_t *w, uint64_t now)
{
    struct vt_profile *t = l->profile;
    switch (vt_effect(what)) {
    case VT_STACK_NONE: break;
    case VT_STACK_ENTER: enter(l, t, region(VT_ID(what)), now); break;
    case VT_STACK_LEAVE: leave(t, region(VT_ID(what)), now); break;
    case VT_STACK_ENTER_ADDRESS: enter(l, t, *w | VT_OPEN_ADDRESS, now); break;
    case VT_STACK_LEAVE_ADDRESS: leave(t, *w | VT_OPEN_ADDRESS, now); break;
    case VT_STACK_END:
        end_above(t, 0, now);
        t->nteams = 0;
        break;
    }
    const uint32_t classes = vt_kinds[what >> 24];
    if (classes & WITH_BYTES) bytes(t, what, w);
    if (classes & VT_CLASS_TEAM) team(l, what, w, now);
    if (VT_KIND(what) == VT_K_OFF || VT_KIND(what) == VT_K_ON) switched(t->stack[0], VT_KIND(what) == VT_K_OFF, now);
}

/* Counts the records of a chunk. Returns the number of events. */
static uint64_t count(struct vt_location *l, struct vt_chunk *c)
{
    struct vt_profile *t = l->profile;
    const uint64_t *w = vt_chunk_words(c);
    const uint32_t n = c->used / 8;
    uint64_t now = c->ticks, events = 0;
    if (t->stack[0]->least == UINT64_MAX) t->stack[0]->least = now;
    for (uint32_t i = 0; i < n;) {
        const uint32_t what = (uint32_t)w[i];
        now += w[i] >> 32;
        if (VT_LIKELY(what & VT_FUNCTION_LEAVE && what & VT_FUNCTION)) leave(t, what & ~VT_FUNCTION_LEAVE, now);
        else if (what & VT_FUNCTION) enter(l, t, what, now);
        else if (VT_KIND(what) == VT_K_TIME) now += w[i + 1];
        else other(l, what, w + i + 1, now);
        events += (vt_kinds[what >> 24] & VT_KIND_COUNTED) != 0;
        i += 1 + VT_WORDS(what);
        order();
        VT_SET(c->counted, i);
    }
    t->stack[0]->entered = now;
    return events;
}

/* The stack of the location is that of its profile; rewind.c needs it. */
static void tell_stack(struct vt_location *l)
{
    const struct vt_profile *t = l->profile;
    l->depth = t->depth + t->beyond;
    l->nopen = t->depth < VT_OPEN_MAX ? t->depth : VT_OPEN_MAX;
    for (uint32_t i = 0; i < l->nopen; i++) l->open[i] = t->stack[i + 1]->what;
}

void vt_profile_fold(struct vt_location *l, struct vt_chunk *c)
{
    if (l->mark.chunk == c) { /* a rewind cannot discard counted records */
        l->mark.chunk = NULL;
        l->mark.voided = 1;
    }
    if (vt_profile_of(l)) {
        VT_SET(l->counted, l->counted + count(l, c));
        if (!vt_ring_keeps()) tell_stack(l);
    } else {
        l->lost_why = VT_LOST_MEMORY;
        atomic_fetch_add(&l->lost, vt_events_in(vt_chunk_words(c), c->used / 8));
    }
    if (vt_ring_keeps()) {
        vt_replay(l, c);
        c->end_ticks = VT_READ(l->last);
        vt_chunk_append(&l->ring, &l->ring_last, c);
        return;
    }
    l->sequence--;
    l->chunks--;
    if (l->spare) {
        vt_chunk_give(c);
        return;
    }
    vt_chunk_keep(c);
    l->spare = c;
}
