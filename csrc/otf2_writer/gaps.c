/* SPDX-License-Identifier: BSD-3-Clause */
/* The intervals in which a location did not record, and the reason of each, for the ledger. A location keeps at most
   VT_GAPS_MAX intervals. Beyond that, the intervals of one reason that are closest to each other are joined, until half
   of the intervals are left. */
#include <stdlib.h>
#include <string.h>
#include "containers.h"
#include "pass.h"

static void join(struct vt_gap *gap, const struct vt_gap *next)
{
    if (next->to > gap->to) gap->to = next->to;
    gap->ns += next->ns;
    gap->count =
        gap->count == VT_GAP_UNKNOWN || next->count == VT_GAP_UNKNOWN ? VT_GAP_UNKNOWN : gap->count + next->count;
    gap->classes |= next->classes;
}

/* Returns the distance of an interval from the previous one with the same reason; UINT64_MAX: the two cannot be joined.
   The open intervals, one for each reason, stay as they are. ends: end of the previous interval of each reason;
   UINT64_MAX: none. */
static uint64_t apart(const struct vt_gap *gap, uint64_t *ends)
{
    uint64_t *end = &ends[gap->reason], before = *end;
    if (gap->to == VT_GAP_OPEN) return UINT64_MAX;
    if (before == UINT64_MAX || gap->to > before) *end = gap->to;
    if (before == UINT64_MAX) return UINT64_MAX;
    return gap->from > before ? gap->from - before : 0;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Joins the intervals that are closest to each other, until half of the intervals are left. */
static void join_closest(struct vt_transcoded *r)
{
    uint64_t distances[VT_GAPS_MAX], ends[VT_GAP_NUMBERS], last[VT_GAP_NUMBERS] = {0}, n = 0, joins = VT_GAPS_MAX / 2;
    memset(ends, 0xff, sizeof ends);
    for (uint64_t i = 0; i < VT_GAPS_MAX; i++) distances[i] = apart(&r->gaps[i], ends);
    qsort(distances, VT_GAPS_MAX, sizeof *distances, compare);
    uint64_t near = distances[joins - 1];
    memset(ends, 0xff, sizeof ends);
    for (uint64_t i = 0; i < VT_GAPS_MAX; i++) {
        struct vt_gap gap = r->gaps[i];
        uint64_t distance = apart(&gap, ends);
        if (joins && distance <= near && distance != UINT64_MAX) {
            join(&r->gaps[last[gap.reason]], &gap);
            joins--;
            continue;
        }
        if (gap.to != VT_GAP_OPEN) last[gap.reason] = n;
        r->gaps[n++] = gap;
    }
    r->ngaps = n;
}

/* Returns the open interval to which LOST records of this reason belong; NULL: none. */
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
    if (r->ngaps == VT_GAPS_MAX) join_closest(r);
    if (!VT_ROOM_FOR_NEXT(r->gaps, r->ngaps)) return VT_NO_MEMORY;
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
