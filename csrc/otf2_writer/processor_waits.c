/* SPDX-License-Identifier: BSD-3-Clause */
/* The times in which threads could run but waited for a processor, and those in which they slept. They are no events of
   OTF2: the sidecar of the archive has them, and rank 0 gathers them. So a location keeps at most MOST intervals of each
   kind. Beyond that neighbours with the least waiting become one, which keeps the sum: the longest waits stay as they
   are. */
#include <stdlib.h>
#include "containers.h"
#include "pass.h"

#define MOST 1024u
#define MOST_LATE 100000000 /* ns */

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
static void join_least(struct vt_wait *waits, uint64_t *count)
{
    uint64_t sums[MOST - 1], n = 0;
    for (uint64_t i = 0; i < MOST - 1; i++) sums[i] = waits[i].ns + waits[i + 1].ns;
    qsort(sums, MOST - 1, sizeof *sums, compare);
    const uint64_t most = sums[MOST / 4 - 1];
    for (uint64_t i = 0, joins = 0; i < MOST; i++) {
        const struct vt_wait *w = &waits[i];
        const int joins_next = i + 1 < MOST && joins < MOST / 4 && w[0].ns + w[1].ns <= most;
        waits[n++] = joins_next ? joined(w, w + 1) : *w;
        joins += (uint64_t)joins_next;
        i += (uint64_t)joins_next;
    }
    *count = n;
}

static int keep(struct vt_wait **waits, uint64_t *count, struct vt_wait wait)
{
    if (wait.to <= wait.from || !wait.ns) return VT_OK;
    if (wait.ns > wait.to - wait.from) wait.ns = wait.to - wait.from;
    if (*count == MOST) join_least(*waits, count);
    if (!VT_ROOM_FOR_NEXT(*waits, *count)) return VT_NO_MEMORY;
    (*waits)[(*count)++] = wait;
    return VT_OK;
}

/* Keeps a wait of the interval from `last` on. Of more ns than the interval has, some were before it, but after the last
   reading: in calls that are not known. *late: ns for which there was no room there either, at most MOST_LATE. */
static int keep_since(struct pass *p, struct vt_wait **waits, uint64_t *count, uint64_t last, struct vt_wait wait,
                      uint64_t *late)
{
    const uint64_t to = wait.to, since = to > last ? to - last : 0;
    *late = 0;
    if (wait.ns > since) {
        struct vt_wait *w = *count ? &(*waits)[*count - 1] : NULL;
        const uint64_t before = w ? w->to : p->begun, end = to > last ? last : to, more = wait.ns - since;
        const int fits_into = w && before >= end; /* part of the last wait may be before the last reading */
        const uint64_t most = fits_into ? w->to - w->from - w->ns : before < end ? end - before : 0;
        const struct vt_wait earlier = {before, end, more, wait.region, 1, VT_NO_PATH, 0};
        if (fits_into) w->ns += more < most ? more : most;
        const int code = keep(waits, count, earlier);
        if (code) return code;
        if (more > most) *late = more - most < MOST_LATE ? more - most : MOST_LATE;
        wait.ns = since;
    }
    wait.from = last;
    return keep(waits, count, wait);
}

static uint64_t now_of(struct pass *p)
{
    int early = 0;
    return vt_times_ns(&p->times, p->ticks, &early);
}

/* The later of a time and the end of the last wait: several waits may follow an event. */
static uint64_t after(const struct pass *p, const struct vt_wait *waits, uint64_t count, uint64_t time)
{
    if (time < p->begun) time = p->begun;
    return count && waits[count - 1].to > time ? waits[count - 1].to : time;
}

int vt_processor_wait(struct pass *p, uint64_t ns, uint32_t region, uint64_t path)
{
    struct vt_transcoded *r = p->result;
    const uint64_t last = after(p, r->waits, r->nwaits, p->last);
    /* a thread may lose the processor after it has read the time of a record, and before it reads its waits */
    if (ns < UINT64_MAX - MOST_LATE) ns += p->late_wait;
    const struct vt_wait wait = {0, now_of(p), ns, region, 1, path, 0};
    return keep_since(p, &r->waits, &r->nwaits, last, wait, &p->late_wait);
}

int vt_blocked(struct pass *p, const uint64_t *w, uint32_t region, uint64_t path)
{
    struct vt_transcoded *r = p->result;
    int early = 0;
    const uint64_t begin = w[1] && w[1] <= p->ticks ? vt_times_ns(&p->times, p->ticks - w[1], &early) : p->last;
    const uint64_t last = after(p, r->blocked, r->nblocked, begin);
    const struct vt_wait sleep = {0, now_of(p), w[0], region, 1, path, w[2]};
    uint64_t late;
    return keep_since(p, &r->blocked, &r->nblocked, last, sleep, &late);
}

VT_EXPORT void vt_kernel_waits_free(struct vt_transcoded *result)
{
    free(result->waits);
    result->waits = NULL;
    result->nwaits = 0;
    free(result->blocked);
    result->blocked = NULL;
    result->nblocked = 0;
}
