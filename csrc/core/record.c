/* SPDX-License-Identifier: BSD-3-Clause */
/* Recording for shims; function events have their own path in funwrap. */
#define _GNU_SOURCE
#include <string.h>
#include "record.h"

/* For an event that came while its thread was recording: a signal handler's, which is lost, or the first one after
   siglongjmp left a recording for good. NULL: lost, and counted.                                                   */
static struct vt_location *not_busy(struct vt_location *l, unsigned events)
{
    if (vt_busy_is_stale(l->busy, vt_stack_pointer())) {
        vt_location_mend(l);
        return l;
    }
    l->lost_why = VT_LOST_SIGNAL;
    atomic_fetch_add_explicit(&l->lost, events, memory_order_relaxed);
    VT_SET(l->limit, NULL); /* the next event takes the slow path and tells of the loss */
    return NULL;
}

/* The calling thread's location, free to record so many events. */
struct vt_location *vt_location_to_record(unsigned events)
{
    struct vt_location *l = vt_location_of_thread(events);
    return l && VT_UNLIKELY(VT_READ(l->busy)) ? not_busy(l, events) : l;
}

/* All but the first word. Most calls write up to 8, for which a jump is cheaper than a loop. */
static inline void copy(uint64_t *at, const uint64_t *words, unsigned n)
{
    switch (n) {
    default:
        for (unsigned i = 8; i < n; i++) at[i] = words[i]; /* fall through */
    case 8: at[7] = words[7]; /* fall through */
    case 7: at[6] = words[6]; /* fall through */
    case 6: at[5] = words[5]; /* fall through */
    case 5: at[4] = words[4]; /* fall through */
    case 4: at[3] = words[3]; /* fall through */
    case 3: at[2] = words[2]; /* fall through */
    case 2: at[1] = words[1]; /* fall through */
    case 1:
    case 0: return;
    }
}

void vt_write(uint64_t *words, unsigned n)
{
    struct vt_location *l = vt_here;
    if (VT_UNLIKELY(!l || VT_READ(l->busy)))
        if (!(l = vt_location_to_record(vt_events_in(words, n)))) return;
    vt_busy_begin(l);
    uint64_t now = vt_now(), dt = now - l->last, *at = l->cursor;
    if (VT_UNLIKELY(at + n > VT_READ(l->limit) || dt >> 32)) vt_put(l, words, n, now);
    else {
        at[0] = dt << 32 | (uint32_t)words[0];
        copy(at, words, n);
        VT_SET(l->last, now);
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
