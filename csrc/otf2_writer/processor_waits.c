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
        r->waits[i] = (struct vt_wait){first.from, second.to, first.ns + second.ns,
                                       first.ns > second.ns ? first.region : second.region};
    }
    r->nwaits = MOST / 2;
}

int vt_processor_wait(struct pass *p, uint64_t ns, uint32_t region)
{
    struct vt_transcoded *r = p->result;
    int early = 0;
    uint64_t from = p->last > p->begun ? p->last : p->begun, to = vt_times_ns(&p->times, p->ticks, &early);
    /* some of the waits were before the last event, but after the last reading */
    if (to < from + ns) from = r->nwaits ? r->waits[r->nwaits - 1].to : p->begun;
    if (to <= from) return VT_OK;
    if (r->nwaits == MOST) join_pairs(r);
    if (!VT_ROOM_FOR_NEXT(r->waits, r->nwaits)) return VT_NO_MEMORY;
    r->waits[r->nwaits++] = (struct vt_wait){from, to, ns < to - from ? ns : to - from, region};
    return VT_OK;
}

VT_EXPORT void vt_kernel_waits_free(struct vt_transcoded *result)
{
    free(result->waits);
    result->waits = NULL;
    result->nwaits = 0;
}
