/* SPDX-License-Identifier: BSD-3-Clause */
/* The chunks of a location, its lock, and the part of writing a record that write.h does not inline. */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "location.h"

#define ROOM_BESIDE 16 /* words for the records that vt_put_record may add: TIME, LOST, PROCESSOR_WAIT, FLUSH, LIMIT */
#define BLOCKED_WORDS 4 /* of a BLOCKED record, which waits for a chunk with room */
#define LOCK_WAIT 50000 /* maximum wait for a lock, in units of 0.1 ms */

_Thread_local struct vt_location *vt_own_location __attribute__((tls_model("initial-exec")));
_Thread_local int vt_closing __attribute__((tls_model("initial-exec")));
_Thread_local struct vt_write_cursor *vt_cursor __attribute__((tls_model("initial-exec")));
int vt_sees_records;
struct vt_location *_Atomic vt_locations[VT_MAX_LOCATIONS];
struct vt_frame vt_no_frame = {.at = UINTPTR_MAX};

/* The busy word is the stack pointer of a frame. Stacks grow downwards. Between an interrupted frame and the frame of
   its signal handler the kernel saves more than SAVED bytes. The frames between the handler and this function take less
   than SAVED bytes. */
#define SAVED 512
int vt_busy_is_stale(uintptr_t busy, uintptr_t here)
{
    stack_t s;
    if (vt_has_ended()) return 0;
    if (!VT_SYS2(sigaltstack, NULL, &s) && !(s.ss_flags & SS_DISABLE)) {
        int on = (s.ss_flags & SS_ONSTACK) != 0;
        int was = busy - (uintptr_t)s.ss_sp < s.ss_size;
        if (on != was) return was;
    }
    return here + SAVED > busy;
}

int vt_location_lock(struct vt_location *l)
{
    uint32_t me = l == vt_own_location ? l->thread : (uint32_t)VT_SYS0(gettid);
    uint64_t mask;
    for (int i = 0; i < LOCK_WAIT && l->in_use; i++) {
        uint32_t free = 0;
        vt_hold_signals(&mask);
        if (l->in_use && atomic_compare_exchange_strong(&l->lock, &free, me)) {
            l->signals = mask;
            return 1;
        }
        vt_release_signals(&mask);
        if (free == me) return 0;
        vt_pause();
    }
    return 0;
}

void vt_location_unlock(struct vt_location *l)
{
    uint64_t mask = l->signals;
    atomic_store(&l->lock, 0);
    vt_release_signals(&mask);
}

void vt_location_mend(struct vt_location *l)
{
    if (vt_location_lock(l)) {
        struct vt_chunk *c = l->chunk;
        l->polls.end = NULL;
        if (c) {
            l->cursor = vt_chunk_words(c) + vt_chunk_used(c) / 8;
            VT_SET(l->last, vt_replay_times(c, &l->lost_told));
        }
        VT_SET(l->limit, NULL); /* the next event takes the slow path */
        vt_location_unlock(l);
    }
    VT_SET(l->busy, 0);
}

void vt_chunk_finish(struct vt_location *l)
{
    if (vt_keep_looks() && l->chunk) vt_thin_last(l);
    struct vt_chunk *c = l->chunk;
    VT_SET(l->limit, NULL);
    VT_SET(l->chunk, NULL);
    if (!c) return;
    c->used = vt_chunk_used(c); /* excludes records that another thread publishes while the program ends */
    if (!c->used) {
        l->sequence--;
        l->chunks--;
        vt_chunk_give(c);
        return;
    }
    if (vt_process.set.mode == VT_MODE_PROFILE) {
        vt_profile_fold(l, c);
        return;
    }
    vt_replay(l, c);
    vt_thin_finished(l, c);
    c->end_ticks = VT_READ(l->last);
    vt_chunk_append(&l->full, &l->full_last, c);
}

/* Copies a chunk of definitions into the new buffer. Returns NULL if there is no memory. */
static struct vt_chunk *copy_of(const struct vt_chunk *c)
{
    struct vt_chunk *copy = vt_chunk_take();
    if (copy) memcpy(copy, c, VT_CHUNK_DATA + vt_chunk_used(c));
    return copy;
}

void vt_location_create_buffer(void)
{
    if (!vt_buffer_is_later()) return;
    struct vt_location *first = atomic_load(&vt_locations[0]); /* the owner of all chunks */
    if (!first || !vt_location_lock(first)) return;
    if (vt_buffer_is_later()) {
        struct vt_chunk *full = first->defs_full, *filling = first->defs, *copy;
        first->defs_full = first->defs_last = first->defs = NULL;
        vt_buffer_create();
        for (; full; full = vt_chunk_next(full))
            if ((copy = copy_of(full))) vt_chunk_append(&first->defs_full, &first->defs_last, copy);
        if (filling) first->defs = copy_of(filling);
        vt_file_tell_head(first);
    }
    vt_location_unlock(first);
}

/* Begins a chunk of events. The caller holds the lock. At the end of the program no thread begins another chunk. */
static int begin_chunk(struct vt_location *l)
{
    struct vt_chunk *c = NULL;
    if (atomic_load(&vt_process.state) == VT_ON) c = l->spare ? l->spare : vt_chunk_take();
    if (!c) return 0;
    l->spare = NULL;
    c->content = VT_EVENTS;
    VT_SET(c->head, VT_CHUNK_DATA);
    c->location = l->number;
    c->sequence = l->sequence++;
    c->thread = l->thread;
    c->ticks = l->last;
    c->pair = vt_clock_recent();
    c->lost = l->lost_told;
    c->dropped = l->dropped;
    c->depth = l->depth;
    c->nopen = l->nopen;
    c->records = c->counted = c->kept = 0;
    c->classes = VT_CLASS_ALL;
    memcpy(c->open, l->open, l->nopen * sizeof *l->open);
    __atomic_store_n(&c->state, VT_CHUNK_FILLING, __ATOMIC_RELEASE);
    l->dropped = 0;
    l->chunks++;
    VT_SET(l->chunk, c);
    l->polls.end = NULL;
    l->cursor = vt_chunk_words(c);
    VT_SET(l->limit, vt_chunk_limit(c));
    if (l->thin) vt_thin_tell(l);
    return 1;
}

/* Returns the number of chunks at which a location writes a step. From its first full buffer on, a location writes twice
   as many chunks as it fills, until none is left: then chunks are written while the cache holds them, which takes 6 to 8 %
   less time an event. The buffer stays full for a rewind, if full buffers count, and if each write is slow. */
static uint32_t most_chunks(const struct vt_location *l)
{
    const struct vt_settings *s = &vt_process.set;
    const int waits = l->mark.chunk || (l->keep && (l->keep->held || l->keep->out));
    if (!l->step_at || waits || s->max_flushes || s->slow_files) return l->quota;
    return l->step_at < l->quota ? l->step_at : l->quota;
}

/* Writes the oldest full chunks of a location: a step, so that no event waits long. VT_MAX_FLUSHES counts how often the
   location has filled its quota: the first step does, and the next one after as many chunks. counts: 0 if other locations
   fill the buffer. Another thread may write all chunks meanwhile (vt_complete), so that the numbers are atomic. */
static void write_step(struct vt_location *l, int counts)
{
    const uint64_t begin = vt_now();
    const uint32_t before = VT_READ(l->chunks);
    if (counts && !VT_READ(l->round)) {
        VT_SET(l->round, l->quota);
        VT_SET(l->flushes, l->flushes + 1);
    }
    const uint32_t most = counts ? VT_READ(l->round) : before, ready = vt_keep_ready(l);
    if (vt_file_flush_step(l, most < ready ? most : ready) < 0) vt_stop(l, VT_LOST_WRITE, 0);
    else vt_size_check(l);
    const uint32_t left = VT_READ(l->chunks), wrote = before - left, round = VT_READ(l->round);
    l->step_at = left < VT_STEP / 2 ? VT_STEP : left + VT_STEP / 2;
    if (counts) VT_SET(l->round, round > wrote ? round - wrote : 0);
    VT_SET(l->flush_ticks, l->flush_ticks + (vt_now() - begin));
}

/* Begins the next chunk. If the location has reached its quota, if all locations together fill the buffer, or if there is
   no memory, full chunks are written first. The caller has set the busy word. *flushed: ticks when a flush began;
   unchanged if there was none. */
static int replace_chunk(struct vt_location *l, uint64_t *flushed)
{
    vt_location_create_buffer();
    if (!vt_location_lock(l)) return 0;
    /* with a budget that is short, chunks wait neither for thinning nor to be written: their bytes must be known */
    const int is_short = vt_process.set.budget && vt_budget_is_short(vt_clock_ns(CLOCK_MONOTONIC_RAW));
    const int thins = (is_short || (l->thin && l->thin->bits)) && !l->full;
    if ((thins || *vt_process.set.keep) && vt_thin(l)) {
        vt_location_unlock(l);
        return 1;
    }
    vt_chunk_finish(l);
    int ring = vt_ring_keeps();
    if (ring && l->chunks >= l->quota) vt_ring_drop(l);
    int fits = !l->chunks || vt_buffer_has_room(), counts = !is_short && (fits || l->chunks >= l->quota);
    int has = !(is_short && l->chunks) && fits && l->chunks < most_chunks(l) && begin_chunk(l);
    if (!has && ring) has = vt_ring_drop(l) && begin_chunk(l); /* no memory: reuse the oldest chunk */
    int must_flush = !has && !ring && l->chunks;
    vt_location_unlock(l);
    if (!must_flush || atomic_load(&vt_process.state) != VT_ON) goto out;
    *flushed = vt_now();
    write_step(l, counts);
    if (l->stopped || !vt_location_lock(l)) return 0;
    has = begin_chunk(l);
    vt_location_unlock(l);
out:
    if (!has && atomic_load(&vt_process.state) == VT_ON) vt_stop(l, VT_LOST_MEMORY, 0);
    return has;
}

/* Begins the next chunk, as replace_chunk does; the time counts as that of recording (VT_BUDGET=...,N%). */
static int next_chunk(struct vt_location *l, uint64_t *flushed)
{
    const int is_followed = vt_process.set.overhead && l == vt_own_location;
    if (is_followed) vt_overhead_look(l);
    const int has = replace_chunk(l, flushed);
    if (is_followed) vt_overhead_worked(l);
    return has;
}

/* Returns 1 if the location has room for this number of words. */
static int room(struct vt_location *l, unsigned words, uint64_t *flushed)
{
    struct vt_chunk *c = VT_READ(l->chunk);
    if (vt_closing) return c && l->in_use && !l->stopped && vt_chunk_end(c) - l->cursor >= (long)words;
    if (l->stopped || !l->in_use || atomic_load_explicit(&vt_process.state, memory_order_relaxed) != VT_ON) return 0;
    if (c && vt_chunk_limit(c) - l->cursor >= (long)words) {
        VT_SET(l->limit, vt_chunk_limit(c)); /* a signal handler that lost an event clears the limit */
        return 1;
    }
    return next_chunk(l, flushed);
}

unsigned vt_events_in(const uint64_t *words, unsigned n)
{
    unsigned events = 0;
    for (unsigned i = 0; i < n; i += 1 + VT_WORDS((uint32_t)words[i]))
        events += (vt_kinds[(uint32_t)words[i] >> 24] & VT_KIND_COUNTED) != 0;
    return events;
}

uint64_t *vt_stamp(struct vt_location *l, uint64_t *at, uint64_t word, uint64_t now)
{
    if (now < l->last) { /* counters of two cores may differ by a few ticks */
        now = l->last;
        VT_SET(l->clamped, l->clamped + 1);
    }
    uint64_t dt = now - l->last;
    if (dt >> 32) {
        *at++ = VT_HEAD(VT_K_TIME, 1, 0);
        *at++ = dt;
        dt = 0;
    }
    *at++ = dt << 32 | (uint32_t)word;
    VT_SET(l->last, now);
    return at;
}

void vt_put_record(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t now)
{
    uint64_t flushed = 0, lost;
    if (!room(l, n + ROOM_BESIDE, &flushed)) { /* events after the end are not counted as lost */
        if (atomic_load_explicit(&vt_process.state, memory_order_relaxed) == VT_ON)
            atomic_fetch_add_explicit(&l->lost, vt_events_in(words, n), memory_order_relaxed);
        return;
    }
    uint64_t *at = l->cursor;
    if (!at) return; /* in a forked child: see vt_location_lock */
    lost = atomic_load_explicit(&l->lost, memory_order_relaxed);
    if (VT_UNLIKELY(lost != l->lost_told)) {
        at = vt_stamp(l, at, VT_HEAD(VT_K_LOST, 1, l->lost_why), now);
        *at++ = lost - l->lost_told;
        l->lost_told = lost;
    }
    if (VT_UNLIKELY(l->wait)) {
        at = vt_stamp(l, at, VT_HEAD(VT_K_PROCESSOR_WAIT, 1, 0), now);
        *at++ = l->wait;
        l->wait = 0;
    }
    if (VT_UNLIKELY(l->slept) && vt_chunk_end(l->chunk) - at >= (long)(n + ROOM_BESIDE + BLOCKED_WORDS)) {
        at = vt_stamp(l, at, VT_HEAD(VT_K_BLOCKED, 3, 0), now);
        *at++ = l->slept;
        *at++ = 0;
        *at++ = 0;
        l->slept = 0;
    }
    at = vt_stamp(l, at, words[0], now);
    for (unsigned i = 1; i < n; i++) *at++ = words[i];
    if (flushed) {
        l->resumed = vt_now();
        if (!l->is_stream) {
            at = vt_stamp(l, at, VT_HEAD(VT_K_FLUSH, 1, 0), flushed);
            *at++ = l->resumed - flushed;
        }
        if (vt_process.set.max_flushes && l->flushes >= vt_process.set.max_flushes) {
            at = vt_stamp(l, at, VT_HEAD(VT_K_LIMIT, 1, VT_LOST_LIMIT), vt_now());
            *at++ = VT_CLASS_ALL;
            vt_stop(l, VT_LOST_LIMIT, 1);
        }
    }
    vt_publish(l, at);
}

void vt_limits_clear(void)
{
    uint32_t n = atomic_load(&vt_process.locations);
    atomic_thread_fence(memory_order_seq_cst);
    for (uint32_t i = 0; i < n && i < VT_MAX_LOCATIONS; i++) {
        struct vt_location *l = atomic_load(&vt_locations[i]);
        if (!l) continue;
        VT_SET(l->limit, NULL);
        for (uint32_t c = 0; c < VT_COUNT_CHUNKS; c++) VT_SET(l->counts[c], NULL);
    }
}

/* A thread that switches recording off, stops some classes or requests a flush clears the limit. This thread may have
   set the limit again at the same moment. */
void vt_stay_off(struct vt_location *l)
{
    atomic_thread_fence(memory_order_seq_cst);
    int off = (int)atomic_load_explicit(&vt_process.off, memory_order_relaxed);
    int full = (int)atomic_load_explicit(&vt_process.full, memory_order_relaxed);
    /* l->off: another thread may switch recording on between this location's OFF and here, and its change of the limit is
       then overwritten */
    const int asks = (int)atomic_load_explicit(&vt_overhead_asks, memory_order_relaxed);
    if (VT_UNLIKELY(off || l->off || full || asks || vt_ring_is_asked(l))) VT_SET(l->limit, NULL);
}

void vt_location_flushed(struct vt_location *l)
{
    uint64_t most = vt_process.set.max_flushes, limit[2] = {VT_HEAD(VT_K_LIMIT, 1, VT_LOST_LIMIT), VT_CLASS_ALL};
    VT_SET(l->flushes, l->flushes + 1);
    if (!most || l->flushes < most) return;
    vt_put_record(l, limit, 2, vt_now());
    vt_stop(l, VT_LOST_LIMIT, 1);
}

/* Only the owner reads the fill level of its current chunk: the current chunk of another thread counts as empty. */
unsigned vt_buffer_level(void)
{
    uint32_t n = atomic_load(&vt_process.locations);
    uint64_t level = 0;
    for (uint32_t i = 0; i < n && i < VT_MAX_LOCATIONS; i++) {
        struct vt_location *l = atomic_load(&vt_locations[i]);
        uint64_t chunks = l && !VT_READ(l->stopped) ? VT_READ(l->chunks) : 0;
        if (!chunks) continue;
        uint64_t bytes = (chunks - 1) * VT_CHUNK_SIZE, of = (uint64_t)l->quota * VT_CHUNK_SIZE;
        if (l == vt_own_location && l->chunk) bytes += vt_chunk_used(l->chunk);
        if (100 * bytes / of > level) level = 100 * bytes / of;
    }
    return (unsigned)level;
}

/* ---- Own work ---- */

struct vt_own_work vt_own_work_begin(void)
{
    struct vt_location *l = vt_own_location;
    const struct vt_own_work work = {vt_suppressed, errno, l ? VT_READ(l->busy) : 0};
    vt_suppressed = 1;
    if (l) VT_SET(l->busy, vt_stack_pointer());
    return work;
}

void vt_own_work_end(const struct vt_own_work *work)
{
    struct vt_location *l = vt_own_location;
    if (l) VT_SET(l->busy, work->busy);
    vt_suppressed = work->suppressed;
    errno = work->error;
}

/* ---- The child of a vfork shares the memory of its parent ---- */

int vt_shares_memory(void)
{
    struct vt_location *l = vt_own_location;
    return l ? VT_READ(l->vforked) && vt_is_vfork_child(l) : vt_is_other_process();
}

int vt_is_vfork_child(struct vt_location *l)
{
    if (vt_is_other_process()) return 1;
    VT_SET(l->vforked, 0);
    return 0;
}
