/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects the calls of a location in the order of their Leaves, and sorts the calls by their Enters at the location's
   end. */
#include "window_rows.h"
#include "../otf2_writer/containers.h"
#include <stdlib.h>
#include <string.h>

struct found_call {
    int64_t begin, end, exclusive;
    uint64_t number;
    uint32_t region, depth, flags, calls;
};

struct open_window {
    struct vt_window out; /* first: the part that Python sees */
    struct found_call *found; /* calls of the location so far */
    struct vt_checkpoint_call *resumed; /* calls that are open at the first event that is read */
    int64_t *begins; /* start times of the open collective operations */
    uint32_t *places; /* for each place 1 + the number of its call */
    uint64_t nfound, nresumed, nbegins, read; /* read: events of the location in batches so far */
    uint64_t found_room, resumed_room, begins_room, places_room;
};

/* ---- Events ---- */

/* Returns the start of a collective operation whose MpiCollectiveBegin is before the first event that is read, that is,
   the Enter of a call that was open then. */
static int64_t begin_of_open(const struct open_window *w, uint32_t region)
{
    for (uint64_t i = w->nresumed; i; i--)
        if (w->resumed[i - 1].region == region) return w->resumed[i - 1].enter;
    return -1;
}

static int keep_event(struct open_window *w, const struct vt_detail *d, int64_t time, uint64_t number)
{
    struct vt_window *o = &w->out;
    int64_t begin = -1;
    if (d->kind == VT_READ_MpiCollectiveEnd) begin = w->nbegins ? w->begins[--w->nbegins] : begin_of_open(w, d->region);
    /* The request of a collective operation that ends in the window has the operation's start. */
    if (!o->wanted[d->kind] || (time < o->start && d->kind != VT_READ_NonBlockingCollectiveRequest)) return 1;
    if (!VT_ROOM(o->events, o->nevents + 1, &o->events_room)) return 0;
    struct vt_window_event *e = &o->events[o->nevents++];
    *e = (struct vt_window_event){time, begin, number, {0}, (uint32_t)o->location, d->kind, d->ref, d->region};
    memcpy(e->words, d->words, sizeof e->words);
    return 1;
}

static int keep_events(struct open_window *w, const struct vt_batch *b)
{
    const struct vt_detail *d = b->details;
    const uint64_t first = w->out.first + w->read;
    uint64_t left = b->ndetails;
    for (uint64_t i = 0; i < b->count; i++) {
        if (b->kind[i] == VT_READ_MpiCollectiveBegin) {
            if (!VT_ROOM(w->begins, w->nbegins + 1, &w->begins_room)) return 0;
            w->begins[w->nbegins++] = b->time[i];
        }
        for (; left && d->row == i; d++, left--)
            if (!keep_event(w, d, b->time[i], first + i)) return 0;
    }
    w->read += b->count;
    return 1;
}

/* ---- Calls ---- */

static int keep_calls(struct open_window *w, const struct vt_replay *r)
{
    if (!VT_ROOM(w->found, w->nfound + r->nslices, &w->found_room)) return 0;
    for (uint64_t i = 0; i < r->nslices; i++) {
        const struct vt_slice *s = &r->slices[i];
        if (s->end <= w->out.start && s->begin < w->out.start) continue;
        const struct vt_slice_detail *more = &r->slice_details[i];
        w->found[w->nfound++] =
            (struct found_call){s->begin, s->end, more->exclusive, more->number, s->region, s->depth, 0, s->calls};
    }
    return 1;
}

static int keep_open(struct open_window *w, const struct vt_replay *r)
{
    const int64_t stop = w->out.stop;
    if (!VT_ROOM(w->found, w->nfound + r->depth, &w->found_room)) return 0;
    for (uint64_t i = 0; i < r->depth && r->stack[i].enter < stop; i++) {
        const struct vt_checkpoint_call *c = &r->stack[i];
        /* The end of the call's own time: the Enter of its open callee, or stop. */
        const int64_t until = i + 1 < r->depth && r->stack[i + 1].enter < stop ? r->stack[i + 1].enter : stop;
        const int64_t own = until - c->enter - c->inside;
        w->found[w->nfound++] =
            (struct found_call){c->enter, stop, own > 0 ? own : 0, c->number, c->region, (uint32_t)i, VT_CALL_OPEN, 1};
    }
    return 1;
}

/* Returns the place of a call: by depth for calls that were open at the first event, by number of its Enter for others.
   */
static uint64_t place_of(const struct open_window *w, const struct found_call *c)
{
    return c->number < w->out.first ? c->depth : w->nresumed + (c->number - w->out.first);
}

static int make_columns(struct vt_window *o, uint64_t wanted)
{
    if (wanted <= o->calls_room) return 1;
    const uint64_t room = 2 * wanted;
    int64_t *bigger = malloc(VT_CALL_COLUMNS * room * sizeof *bigger);
    if (!bigger) return 0;
    for (uint64_t c = 0; c < VT_CALL_COLUMNS && o->ncalls; c++)
        memcpy(bigger + c * room, o->calls + c * o->calls_room, o->ncalls * sizeof *bigger);
    free(o->calls);
    o->calls = bigger;
    o->calls_room = room;
    return 1;
}

static void put(struct vt_window *o, const struct found_call *c)
{
    int64_t *at = o->calls + o->ncalls++;
    const uint64_t room = o->calls_room;
    at[VT_CALL_LOCATION * room] = (int64_t)o->location;
    at[VT_CALL_BEGIN * room] = c->begin;
    at[VT_CALL_END * room] = c->end;
    at[VT_CALL_REGION * room] = c->region;
    at[VT_CALL_DEPTH * room] = c->depth;
    at[VT_CALL_EXCLUSIVE * room] = c->exclusive;
    at[VT_CALL_NUMBER * room] = (int64_t)c->number;
    at[VT_CALL_FLAGS * room] = c->flags;
    at[VT_CALL_CALLS * room] = c->calls;
}

/* ---- Functions for Python ---- */

VT_EXPORT int vt_window_location(struct vt_window *out, const struct vt_replay *r, uint64_t location, uint64_t first)
{
    struct open_window *w = (struct open_window *)out;
    out->location = location;
    out->first = first;
    w->nfound = w->nbegins = w->read = 0;
    w->nresumed = r->depth;
    if (!VT_ROOM(w->resumed, r->depth, &w->resumed_room)) return VT_READ_NO_MEMORY;
    if (r->depth) memcpy(w->resumed, r->stack, r->depth * sizeof *r->stack);
    return VT_READ_OK;
}

VT_EXPORT int vt_window_batch(struct vt_window *out, const struct vt_replay *r, const struct vt_batch *b)
{
    struct open_window *w = (struct open_window *)out;
    return keep_calls(w, r) && keep_events(w, b) ? VT_READ_OK : VT_READ_NO_MEMORY;
}

VT_EXPORT int vt_window_end(struct vt_window *out, struct vt_replay *r)
{
    struct open_window *w = (struct open_window *)out;
    if (vt_replay_until(r, out->stop) || !keep_calls(w, r) || !keep_open(w, r)) return VT_READ_NO_MEMORY;
    const uint64_t n = w->nresumed + w->read;
    if (!VT_ROOM(w->places, n, &w->places_room) || !make_columns(out, out->ncalls + w->nfound))
        return VT_READ_NO_MEMORY;
    if (n) memset(w->places, 0, n * sizeof *w->places);
    for (uint64_t i = 0; i < w->nfound; i++) {
        const uint64_t place = place_of(w, &w->found[i]);
        if (place < n) w->places[place] = (uint32_t)(i + 1);
    }
    for (uint64_t i = 0; i < n; i++)
        if (w->places[i]) put(out, &w->found[w->places[i] - 1]);
    return VT_READ_OK;
}

VT_EXPORT void vt_window_begin(struct vt_window *out, int64_t start, int64_t stop)
{
    out->start = start;
    out->stop = stop;
    out->ncalls = out->nevents = 0;
}

VT_EXPORT struct vt_window *vt_window_new(void) { return calloc(1, sizeof(struct open_window)); }

VT_EXPORT void vt_window_free(struct vt_window *out)
{
    struct open_window *w = (struct open_window *)out;
    if (!w) return;
    void *all[] = {out->calls, out->events, w->found, w->resumed, w->begins, w->places};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    free(w);
}
