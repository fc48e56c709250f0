/* SPDX-License-Identifier: BSD-3-Clause */
/* The flight recorder, VT_MODE=RING: a location that has used up its share of the buffer overwrites its oldest chunk.
   The next chunk stores how many records are lost. All locations are written at the end of the program. If the program
   or a signal requests it, they are written earlier: each thread writes its own location at its next event, so that no
   thread waits for another thread. With VT_MODE=PROFILE and VT_TRIGGER a location keeps chunks that it has counted, and
   writes them only at a request. */
#include "location.h"

static _Atomic uint32_t asked; /* number of requests to write all locations */

/* Releases the oldest chunk; returns 0 if there is none. Requires the lock of the location. */
int vt_ring_drop(struct vt_location *l)
{
    const int counts = vt_process.set.mode == VT_MODE_PROFILE;
    struct vt_chunk **first = counts ? &l->ring : &l->full, **last = counts ? &l->ring_last : &l->full_last;
    struct vt_chunk *c = vt_chunk_drop(first, last, &l->dropped);
    if (!c) return 0;
    if (l->mark.chunk == c) {
        l->mark.chunk = NULL;
        l->mark.voided = 1;
    }
    VT_SET(l->records, l->records - c->records);
    VT_SET(l->overwritten, l->overwritten + c->records);
    vt_chunk_give(c);
    l->chunks--;
    return 1;
}

void vt_ring_take(struct vt_location *l)
{
    if (!l->ring) return;
    if (l->full_last) VT_SET(l->full_last->next, (uint32_t)((uintptr_t)l->ring / VT_CHUNK_SIZE));
    else l->full = l->ring;
    l->full_last = l->ring_last;
    l->ring = l->ring_last = NULL;
}

void vt_ring_end(struct vt_location *l)
{
    if (vt_ring_is_asked(l)) vt_ring_take(l);
    while (l->ring) vt_ring_drop(l);
}

void vt_ring_ask(void)
{
    atomic_fetch_add(&asked, 1);
    vt_limits_clear();
}

VT_GENERAL_REGISTERS int vt_ring_is_asked(const struct vt_location *l)
{
    return VT_READ(l->answered) != atomic_load(&asked);
}

/* Notes that this location has written everything requested up to now. */
void vt_ring_answered(struct vt_location *l) { VT_SET(l->answered, atomic_load(&asked)); }
