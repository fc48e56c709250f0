/* SPDX-License-Identifier: BSD-3-Clause */
/* The times in which threads could run but waited for a processor. They are no events of OTF2: the sidecar of the archive
   has them. A location keeps at most MOST intervals; beyond that each two of them become one. */
#include <stdlib.h>
#include "containers.h"
#include "pass.h"

#define MOST 16384u

static void join_pairs(struct vt_transcoded *r)
{
    for (uint64_t i = 0; i < MOST / 2; i++) {
        const struct vt_wait first = r->waits[2 * i], second = r->waits[2 * i + 1];
        struct vt_wait both = first.ns > second.ns ? first : second;
        both.from = first.from;
        both.to = second.to;
        both.ns = first.ns + second.ns;
        r->waits[i] = both;
    }
    r->nwaits = MOST / 2;
}

static int keep(struct vt_transcoded *r, struct vt_wait wait)
{
    if (wait.to <= wait.from || !wait.ns) return VT_OK;
    if (wait.ns > wait.to - wait.from) wait.ns = wait.to - wait.from;
    if (r->nwaits == MOST) join_pairs(r);
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
        const int code = keep(r, (struct vt_wait){before, to > last ? last : to, ns - since, region, VT_NO_PATH});
        if (code) return code;
        ns = since;
    }
    return keep(r, (struct vt_wait){last, to, ns, region, path});
}

VT_EXPORT void vt_kernel_waits_free(struct vt_transcoded *result)
{
    free(result->waits);
    result->waits = NULL;
    result->nwaits = 0;
}
