/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow path of an event. An event takes it if the chunk is full, if the state of the process has changed, or if the
   time since the last record is long. */
#define _GNU_SOURCE
#include <time.h>
#include "recording.h"

#define LEAST_WAIT 100000 /* ns */
#define LEAST_BLOCKED 1000000 /* ns */
#define ROOM 32 /* words of a chunk from which on a sleep is recorded alone: it never causes a flush */
#define LEAST_TIME 4000000 /* ns between two readings */

static void read_off_core(struct vt_location *l)
{
    const struct vt_off_core off = vt_thread_off_core(l);
    l->short_waits += off.waited;
    if (l->short_waits >= LEAST_WAIT) {
        l->wait += l->short_waits;
        l->short_waits = 0;
    }
    if (off.blocked >= LEAST_BLOCKED) l->slept += off.blocked;
}

/* Asks how long the thread has waited for a processor and slept, if a long time has passed since its last record: a thread
   that loses its processor gets none for some milliseconds. So short times cost nothing. The next record tells the
   times. */
static void ask_wait(struct vt_location *l)
{
    if (!vt_process.set.processor_wait || l != vt_own_location || atomic_load(&vt_process.state) != VT_ON) return;
    const uint64_t at = vt_clock_ns(CLOCK_MONOTONIC_COARSE);
    if (at - l->wait_read < LEAST_TIME) return;
    l->wait_read = at;
    read_off_core(l);
}

void vt_blocked_in(uint64_t since, uint64_t site)
{
    struct vt_location *l = vt_own_location;
    if (atomic_load(&vt_process.state) != VT_ON || l->off || atomic_load(&vt_process.off)) return;
    vt_busy_begin(l);
    l->wait_read = vt_clock_ns(CLOCK_MONOTONIC_COARSE);
    read_off_core(l);
    const uint64_t now = vt_now();
    const uint64_t record[4] = {VT_HEAD(VT_K_BLOCKED, 3, 0), l->slept, since && now > since ? now - since : 0, site};
    struct vt_chunk *c = VT_READ(l->chunk);
    if (l->slept && (c ? vt_chunk_limit(c) - l->cursor >= ROOM : !vt_buffer_is_later())) {
        l->slept = 0;
        vt_put(l, record, 4, now);
    }
    vt_busy_end(l);
}

void vt_off_core_at_sample(struct vt_location *l)
{
    if (!vt_process.set.processor_wait || VT_READ(l->busy) || !l->core_read) return;
    const uint64_t ran = vt_clock_ns(CLOCK_THREAD_CPUTIME_ID) - l->ran;
    if (vt_clock_ns(CLOCK_MONOTONIC) - l->core_read >= ran + LEAST_TIME) vt_blocked_in(0, 0);
}

void vt_put_last_wait(struct vt_location *l)
{
    const int off = l->off || atomic_load(&vt_process.off);
    if (!vt_process.set.processor_wait || off || VT_READ(l->is_timed)) return;
    const struct vt_off_core last = vt_thread_off_core(l);
    const uint64_t wait[2] = {VT_HEAD(VT_K_PROCESSOR_WAIT, 1, 0), l->wait + l->short_waits + last.waited};
    const uint64_t blocked[4] = {VT_HEAD(VT_K_BLOCKED, 3, 0), l->slept + last.blocked, 0, 0};
    l->wait = l->short_waits = l->slept = 0;
    const int closing = vt_closing;
    vt_closing = 1;
    if (wait[1] >= LEAST_WAIT) vt_put_record(l, wait, 2, vt_now());
    if (blocked[1] >= LEAST_BLOCKED) vt_put_record(l, blocked, 4, vt_now());
    vt_closing = closing;
}

void vt_put(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t now)
{
    if (VT_UNLIKELY(VT_READ(l->vforked)) && vt_is_vfork_child(l)) return;
    /* busy may be cleared here, since no state has changed yet: a signal handler may record */
    if (VT_UNLIKELY(vt_window_is_due(now)) && l == vt_own_location) {
        vt_busy_end(l);
        vt_window_apply(l);
        vt_busy_begin(l);
    }
    if (VT_UNLIKELY(vt_ring_is_asked(l)) && l == vt_own_location) {
        vt_write_out(l);
        now = vt_now();
    }
    if (VT_UNLIKELY(atomic_load_explicit(&vt_process.full, memory_order_relaxed) != l->size)) {
        vt_size_follow(l, now);
        now = vt_now();
    }
    int changes = l->off || l->size || atomic_load_explicit(&vt_process.off, memory_order_relaxed);
    if (changes) vt_put_switched(l, words, n, now);
    else {
        if ((now - l->last) >> VT_WAIT_TICKS && now > l->last) {
            ask_wait(l);
            if (vt_process.set.overhead && l == vt_own_location) {
                vt_overhead_look(l);
                vt_overhead_worked(l);
            }
        }
        vt_put_record(l, words, n, now);
    }
    vt_stay_off(l);
}

void vt_tell_flush(struct vt_location *l, uint64_t begin)
{
    uint64_t record[2] = {VT_HEAD(VT_K_FLUSH, 1, 0), 0};
    if (!vt_ring_keeps()) vt_size_check(l);
    record[1] = vt_now() - begin;
    VT_SET(l->flush_ticks, l->flush_ticks + record[1]);
    vt_put(l, record, 2, begin);
}

void vt_write_out(struct vt_location *l)
{
    vt_ring_answered(l);
    vt_trigger_tell(l);
    uint64_t begin = vt_now();
    if (vt_location_lock(l)) {
        vt_chunk_finish(l); /* the next event begins a new chunk */
        vt_ring_take(l);
        vt_samples_finish(l);
        vt_location_unlock(l);
        vt_file_flush(l);
    }
    vt_tell_flush(l, begin);
}
