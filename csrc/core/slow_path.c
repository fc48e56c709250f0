/* SPDX-License-Identifier: BSD-3-Clause */
/* What the path of an event leaves to a function call: no room, another state of the process, a gap in time. */
#define _GNU_SOURCE
#include "clock.h"
#include "end.h"
#include "location.h"
#include "recording_window.h"
#include "ring.h"
#include "slow_path.h"
#include "stop.h"
#include "switch.h"

void vt_put(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t now)
{
    if (VT_UNLIKELY(VT_READ(l->vforked)) && vt_is_vfork_child(l)) return;
    if (VT_UNLIKELY(vt_window_is_due(now)) &&
        l == vt_own_location) { /* nothing has been done yet: a signal handler may come */
        vt_busy_end(l);
        vt_window_look();
        vt_busy_begin(l);
    }
    if (VT_UNLIKELY(vt_ring_is_asked(l)) && l == vt_own_location) vt_write_out(l, 0);
    if (VT_UNLIKELY(atomic_load_explicit(&vt_process.full, memory_order_relaxed) != l->size)) {
        vt_size_follow(l, now);
        now = vt_now();
    }
    int changes = l->off || l->size || atomic_load_explicit(&vt_process.off, memory_order_relaxed);
    if (changes) vt_put_switched(l, words, n, now);
    else vt_put_record(l, words, n, now);
    vt_stay_off(l);
}
