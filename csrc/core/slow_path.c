/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow path of an event. An event takes it if the chunk is full, if the state of the process has changed, or if the
   time since the last record does not fit into 32 bits. */
#define _GNU_SOURCE
#include "recording.h"

void vt_put(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t now)
{
    if (VT_UNLIKELY(VT_READ(l->vforked)) && vt_is_vfork_child(l)) return;
    /* busy may be cleared here, since no state has changed yet: a signal handler may record */
    if (VT_UNLIKELY(vt_window_is_due(now)) && l == vt_own_location) {
        vt_busy_end(l);
        vt_window_apply(l);
        vt_busy_begin(l);
    }
    if (VT_UNLIKELY(vt_ring_is_asked(l)) && l == vt_own_location) vt_write_out(l);
    if (VT_UNLIKELY(atomic_load_explicit(&vt_process.full, memory_order_relaxed) != l->size)) {
        vt_size_follow(l, now);
        now = vt_now();
    }
    int changes = l->off || l->size || atomic_load_explicit(&vt_process.off, memory_order_relaxed);
    if (changes) vt_put_switched(l, words, n, now);
    else vt_put_record(l, words, n, now);
    vt_stay_off(l);
}

void vt_tell_flush(struct vt_location *l, uint64_t begin)
{
    uint64_t record[2] = {VT_HEAD(VT_K_FLUSH, 1, 0), 0};
    if (vt_process.set.mode != VT_MODE_RING) vt_size_check(l);
    record[1] = vt_now() - begin;
    VT_SET(l->flush_ticks, l->flush_ticks + record[1]);
    vt_put(l, record, 2, begin);
}

void vt_write_out(struct vt_location *l)
{
    uint64_t begin = vt_now();
    vt_ring_answered(l);
    if (vt_location_lock(l)) {
        vt_chunk_finish(l); /* the next event begins a new chunk */
        vt_samples_finish(l);
        vt_location_unlock(l);
        vt_file_flush(l);
    }
    vt_tell_flush(l, begin);
}
