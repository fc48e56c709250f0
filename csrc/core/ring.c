/* SPDX-License-Identifier: BSD-3-Clause */
/* The flight recorder, VT_MODE=RING: a location whose share is used up overwrites its oldest chunk instead of writing it out.
   The chunk behind it tells how many records are gone and since when. All locations are written at the end; before it when
   the program or a signal asks: then each by its own thread, at its next event, so that no thread waits for another one. */
#include "buffer.h"
#include "location.h"
#include "ring.h"

static _Atomic uint32_t asked; /* how often all locations were to be written */

/* Gives up the oldest chunk; 0: there is none. Under the lock. */
int vt_ring_drop(struct vt_location *l)
{
    struct vt_chunk *c = l->full;
    if (!c) return 0;
    if (l->mark.chunk == c) {
        l->mark.chunk = NULL;
        l->mark.voided = 1;
    }
    l->full = vt_chunk_next(c);
    if (!l->full) l->full_last = NULL;
    uint64_t *behind = l->full ? &l->full->dropped : &l->dropped;
    VT_SET(*behind,
           *behind + c->dropped + c->records); /* before the chunk goes: who reads a dead process's finds one */
    VT_SET(l->records, l->records - c->records);
    VT_SET(l->overwritten, l->overwritten + c->records);
    vt_chunk_give(c);
    l->chunks--;
    return 1;
}

void vt_ring_ask(void)
{
    uint32_t n = atomic_load(&vt_process.locations);
    atomic_fetch_add(&asked, 1);
    for (uint32_t i = 0; i < n && i < VT_MAX_LOCATIONS; i++) {
        struct vt_location *l = atomic_load(&vt_locations[i]);
        if (l) VT_SET(l->limit, NULL); /* its next event takes the slow path */
    }
}

int vt_ring_is_asked(const struct vt_location *l) { return VT_READ(l->answered) != atomic_load(&asked); }

/* This location has written all that was asked so far. */
void vt_ring_answered(struct vt_location *l) { VT_SET(l->answered, atomic_load(&asked)); }
