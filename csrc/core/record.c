/* SPDX-License-Identifier: BSD-3-Clause */
/* Recording for shims; function events have their own path in funwrap. */
#define _GNU_SOURCE
#include <string.h>
#include "record.h"

/* For an event that came while its thread was recording: a signal handler's, which is lost, or the first one after
   siglongjmp left a recording for good. NULL: lost, and counted.                                                   */
static struct vt_location *not_busy(struct vt_location *l)
{
    if (vt_busy_is_stale(l->busy, vt_stack_pointer())) {
        l->busy = 0;
        return l;
    }
    l->lost_why = VT_LOST_SIGNAL;
    atomic_fetch_add_explicit(&l->lost, 1, memory_order_relaxed);
    l->limit = NULL; /* the next event takes the slow path and tells of the loss */
    return NULL;
}

/* The calling thread's location, free to record. */
struct vt_location *vt_location_to_record(void)
{
    struct vt_location *l = vt_location_of_thread();
    return l && VT_UNLIKELY(l->busy) ? not_busy(l) : l;
}

void vt_write(uint64_t *words, unsigned n)
{
    struct vt_location *l = vt_here;
    if (VT_UNLIKELY(!l || l->busy))
        if (!(l = vt_location_to_record())) return;
    vt_busy_begin(l);
    uint64_t now = vt_now(), dt = now - l->last, *at = l->cursor;
    if (VT_UNLIKELY(at + n > l->limit || dt >> 32)) vt_put(l, words, n, now);
    else {
        at[0] = dt << 32 | (uint32_t)words[0];
        for (unsigned i = 1; i < n; i++) at[i] = words[i];
        l->last = now;
        vt_publish(l, at + n);
    }
    vt_busy_end(l);
}

void vt_enter(uint32_t region)
{
    uint64_t word = VT_HEAD(VT_K_ENTER, 0, region);
    vt_write(&word, 1);
}

void vt_leave(uint32_t region)
{
    uint64_t word = VT_HEAD(VT_K_LEAVE, 0, region);
    vt_write(&word, 1);
}

uint64_t vt_ticks(void) { return vt_now(); }
