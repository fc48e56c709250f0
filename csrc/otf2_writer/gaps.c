/* SPDX-License-Identifier: BSD-3-Clause */
/* The intervals in which a location did not record, and the reason of each, for the ledger. A location keeps at most
   VT_GAPS_MAX intervals. Beyond that, intervals of one reason are joined: first those that are close to each other,
   then those further apart, until half of the intervals are left. */
#include <stdlib.h>
#include "pass.h"

#define NEAR 1000u /* ns between intervals that are joined first */

static void join(struct vt_gap *gap, const struct vt_gap *next)
{
    if (next->to > gap->to) gap->to = next->to;
    gap->ns += next->ns;
    gap->count =
        gap->count == VT_GAP_UNKNOWN || next->count == VT_GAP_UNKNOWN ? VT_GAP_UNKNOWN : gap->count + next->count;
    gap->classes |= next->classes;
}

/* Joins intervals of one reason less than near ns apart. The open intervals, one for each reason, stay as they are. */
static void join_near(struct vt_transcoded *r, uint64_t near)
{
    uint64_t last[VT_GAP_MOST], n = 0;
    for (unsigned i = 0; i < VT_GAP_MOST; i++) last[i] = UINT64_MAX;
    for (uint64_t i = 0; i < r->ngaps; i++) {
        struct vt_gap gap = r->gaps[i];
        uint64_t at = gap.to == VT_GAP_OPEN ? UINT64_MAX : last[gap.reason];
        if (at != UINT64_MAX && (gap.from <= r->gaps[at].to || gap.from - r->gaps[at].to < near)) {
            join(&r->gaps[at], &gap);
            continue;
        }
        if (gap.to != VT_GAP_OPEN) last[gap.reason] = n;
        r->gaps[n++] = gap;
    }
    r->ngaps = n;
}

/* The open interval that LOST records of this reason belong to; NULL: none. */
static struct vt_gap *open_gap(struct vt_transcoded *r, uint32_t reason)
{
    for (uint64_t i = 0; i < r->ngaps; i++)
        if (r->gaps[i].reason == reason && r->gaps[i].to == VT_GAP_OPEN) return &r->gaps[i];
    return NULL;
}

int vt_gap_add(struct pass *p, uint64_t from, uint64_t to, uint64_t count, uint32_t reason, uint32_t classes)
{
    struct vt_transcoded *r = p->result;
    struct vt_gap gap = {from, to, to == VT_GAP_OPEN ? 0 : to - from, count, classes, reason};
    struct vt_gap *open = reason < VT_LOST_MOST ? open_gap(r, reason) : NULL;
    if (open) {
        open->count += count;
        open->classes |= to == VT_GAP_OPEN ? classes : 0;
        return VT_OK;
    }
    struct vt_gap *last = r->ngaps ? &r->gaps[r->ngaps - 1] : NULL;
    if (last && last->reason == reason && from <= last->to && to != VT_GAP_OPEN) {
        join(last, &gap);
        return VT_OK;
    }
    if (r->ngaps == VT_GAPS_MAX)
        for (uint64_t near = NEAR; r->ngaps > VT_GAPS_MAX / 2 && near; near <<= 1) join_near(r, near);
    if (r->ngaps >= 8 ? (r->ngaps & (r->ngaps - 1)) == 0 : !r->ngaps) { /* a power of two: full */
        struct vt_gap *larger = realloc(r->gaps, (r->ngaps ? 2 * r->ngaps : 8) * sizeof *larger);
        if (!larger) return VT_NO_MEMORY;
        r->gaps = larger;
    }
    r->gaps[r->ngaps++] = gap;
    return VT_OK;
}

/* Adds the events that were lost since the previous record. */
int vt_gap_lost(struct pass *p, uint32_t reason, uint64_t count)
{
    int early = 0;
    uint64_t to = vt_times_ns(&p->times, p->ticks, &early), from = p->last > p->begun ? p->last : p->begun;
    return vt_gap_add(p, from, to > from ? to : from, count, reason < VT_LOST_MOST ? reason : 0, VT_CLASS_ALL);
}

VT_EXPORT void vt_kernel_gaps_free(struct vt_transcoded *result)
{
    free(result->gaps);
    result->gaps = NULL;
    result->ngaps = 0;
}
