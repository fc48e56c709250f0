/* SPDX-License-Identifier: BSD-3-Clause */
/* The times in which threads could run but waited for a processor. They are no events of OTF2: the sidecar of the archive
   has them, and rank 0 gathers them. So a location keeps at most MOST intervals. Beyond that neighbours with the least
   waiting become one, which keeps the sum: the longest waits stay as they are. */
#include <stdlib.h>
#include "containers.h"
#include "pass.h"

#define MOST 1024u

static struct vt_wait joined(const struct vt_wait *a, const struct vt_wait *b)
{
    const uint32_t count = a->count > UINT32_MAX - b->count ? UINT32_MAX : a->count + b->count;
    return (struct vt_wait){a->from, b->to, a->ns + b->ns, a->ns > b->ns ? a->region : b->region, count};
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Joins the neighbours that have waited least, at most MOST / 4 pairs, and at least half as many. */
static void join_least(struct vt_transcoded *r)
{
    uint64_t sums[MOST - 1], n = 0;
    for (uint64_t i = 0; i < MOST - 1; i++) sums[i] = r->waits[i].ns + r->waits[i + 1].ns;
    qsort(sums, MOST - 1, sizeof *sums, compare);
    const uint64_t most = sums[MOST / 4 - 1];
    for (uint64_t i = 0, joins = 0; i < MOST; i++) {
        const struct vt_wait *w = &r->waits[i];
        const int joins_next = i + 1 < MOST && joins < MOST / 4 && w[0].ns + w[1].ns <= most;
        r->waits[n++] = joins_next ? joined(w, w + 1) : *w;
        joins += (uint64_t)joins_next;
        i += (uint64_t)joins_next;
    }
    r->nwaits = n;
}

int vt_processor_wait(struct pass *p, uint64_t ns, uint32_t region)
{
    struct vt_transcoded *r = p->result;
    int early = 0;
    uint64_t from = p->last > p->begun ? p->last : p->begun, to = vt_times_ns(&p->times, p->ticks, &early);
    /* some of the waits were before the last event, but after the last reading */
    if (to < from + ns) from = r->nwaits ? r->waits[r->nwaits - 1].to : p->begun;
    if (to <= from) return VT_OK;
    if (r->nwaits == MOST) join_least(r);
    if (!VT_ROOM_FOR_NEXT(r->waits, r->nwaits)) return VT_NO_MEMORY;
    r->waits[r->nwaits++] = (struct vt_wait){from, to, ns < to - from ? ns : to - from, region, 1};
    return VT_OK;
}

VT_EXPORT void vt_kernel_waits_free(struct vt_transcoded *result)
{
    free(result->waits);
    result->waits = NULL;
    result->nwaits = 0;
}
