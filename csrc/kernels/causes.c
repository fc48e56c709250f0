/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the critical path: from the end of the last location backwards through the run. Where a call waited for a
   partner, the path continues at the partner. The times on the path are summed by call path and location. */
#include "replayed.h"
#include <stdlib.h>

struct critical_path {
    struct vt_replayed *r;
    struct vt_pair_table known; /* (location, call path) -> 1 + place in critical */
    uint64_t room;
    int64_t now; /* the path is known after this time */
};

/* Adds to the path ns of a call path on a location, which end at `now`. */
static int spend(struct critical_path *p, uint32_t location, uint32_t node, int64_t ns)
{
    struct vt_matcher *o = p->r->out;
    const int64_t end = p->now < o->to ? p->now : o->to, start = p->now - ns;
    const int64_t begin = start > o->from ? start : o->from;
    p->now = start;
    if (begin >= end) return 1;
    o->length += end - begin;
    if (!o->places[location].wanted) return 1;
    uint64_t place = vt_pair_table_get(&p->known, location, node);
    if (!place) {
        if (!VT_ROOM(o->critical, o->ncritical + 1, &p->room)) return 0;
        o->critical[o->ncritical] = (struct vt_path_share){0, node, location};
        place = ++o->ncritical;
        if (!vt_pair_table_set(&p->known, location, node, place)) return 0;
    }
    o->critical[place - 1].ns += end - begin;
    return 1;
}

/* Adds to the path the times of a location from number `first` up to but not including `last`. */
static int spend_times(struct critical_path *p, uint32_t location, uint64_t first, uint64_t last)
{
    const uint32_t *joined = (const uint32_t *)(uintptr_t)p->r->out->places[location].joined;
    struct vt_packed_times times;
    while (last-- > first) {
        if (!vt_times_at(p->r, location, last, &times)) return VT_MATCH_NO_FILE;
        const struct vt_path_time one = vt_packed_time(&times, 0);
        if (!spend(p, location, joined[one.node], one.ns)) return VT_MATCH_NO_MEMORY;
    }
    return VT_MATCH_OK;
}

static int follow(struct critical_path *p, uint32_t location)
{
    struct vt_replayed *r = p->r;
    uint64_t last = r->out->places[location].ntimes;
    for (;;) {
        struct vt_waits_of *waits = &r->waited[location]; /* those after the path are dropped */
        const struct vt_waited *wait = NULL;
        for (; waits->count; waits->count--) {
            wait = &waits->list[waits->count - 1];
            if (wait->kind == VT_WAIT_mpi_latereceiver) continue; /* not on the path */
            if (wait->until < p->now && wait->call < last) break;
        }
        const int code =
            spend_times(p, location, waits->count ? wait->call + 1 : r->out->places[location].times_begin, last);
        if (code || !waits->count) return code;
        if (!spend(p, location, wait->node, p->now - wait->until)) return VT_MATCH_NO_MEMORY;
        waits->count--;
        const struct vt_logged *found = vt_log_get(&r->log, wait->number);
        if (!found) return VT_MATCH_NO_FILE;
        location = found->partner;
        last = found->partner_call;
        r->out->jumps++;
    }
}

/* Sums the times of call paths of all wanted locations. */
static int add_totals(struct critical_path *p)
{
    struct vt_matcher *o = p->r->out;
    if (!(o->totals = calloc(o->nnodes + 1, sizeof *o->totals))) return VT_MATCH_NO_MEMORY;
    for (uint64_t k = 0; k < o->nplaces; k++) {
        const struct vt_location_ends *place = &o->places[k];
        const uint32_t *joined = (const uint32_t *)(uintptr_t)place->joined;
        struct vt_packed_times times;
        for (uint64_t at = place->times_begin, n; place->wanted && at < place->ntimes; at += n) {
            if (!(n = vt_times_at(p->r, (uint32_t)k, at, &times))) return VT_MATCH_NO_FILE;
            for (uint64_t i = 0; i < n; i++) {
                const struct vt_path_time one = vt_packed_time(&times, i);
                o->totals[joined[one.node]] += one.ns;
            }
        }
    }
    return VT_MATCH_OK;
}

int vt_find_causes(struct vt_replayed *r)
{
    uint32_t location = VT_NONE;
    for (uint32_t k = 0; k < r->nreaders; k++) {
        const uint32_t other = r->readers[k].location;
        if (location == VT_NONE || r->out->places[other].last > r->out->places[location].last) location = other;
    }
    int code = vt_find_delays(r);
    struct critical_path *p = calloc(1, sizeof *p);
    if (!p) return VT_MATCH_NO_MEMORY;
    p->r = r;
    if (!code) code = add_totals(p);
    if (!code && location != VT_NONE) {
        p->now = r->out->places[location].last;
        code = follow(p, location);
    }
    vt_pair_table_free(&p->known);
    free(p);
    return code;
}
