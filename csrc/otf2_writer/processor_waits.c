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
    struct vt_wait both = a->ns > b->ns ? *a : *b;
    both.from = a->from;
    both.to = b->to;
    both.ns = a->ns + b->ns;
    both.count = a->count > UINT32_MAX - b->count ? UINT32_MAX : a->count + b->count;
    return both;
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

static int keep(struct vt_transcoded *r, struct vt_wait wait)
{
    if (wait.to <= wait.from || !wait.ns) return VT_OK;
    if (wait.ns > wait.to - wait.from) wait.ns = wait.to - wait.from;
    if (r->nwaits == MOST) join_least(r);
    if (!VT_ROOM_FOR_NEXT(r->waits, r->nwaits)) return VT_NO_MEMORY;
    r->waits[r->nwaits++] = wait;
    return VT_OK;
}

int vt_processor_wait(struct pass *p, uint64_t ns, uint32_t region, uint64_t path)
{
    struct vt_transcoded *r = p->result;
    int early = 0;
    const uint64_t last = p->last > p->begun ? p->last : p->begun, to = vt_times_ns(&p->times, p->ticks, &early);
    const uint64_t since = to > last ? to - last : 0;
    if (ns > since) {
        /* some of the waits were before the last event, but after the last reading: in calls that are not known */
        const uint64_t before = r->nwaits ? r->waits[r->nwaits - 1].to : p->begun;
        const int code = keep(r, (struct vt_wait){before, to > last ? last : to, ns - since, region, 1, VT_NO_PATH});
        if (code) return code;
        ns = since;
    }
    return keep(r, (struct vt_wait){last, to, ns, region, 1, path});
}

VT_EXPORT void vt_kernel_waits_free(struct vt_transcoded *result)
{
    free(result->waits);
    result->waits = NULL;
    result->nwaits = 0;
}
