/* SPDX-License-Identifier: BSD-3-Clause */
/* Failing polls: calls such as MPI_Test and MPI_Iprobe that find nothing. Programs make millions of them in a row. The
   first one of a row is recorded like every call. If the next one follows closely, and nothing was recorded in between,
   it begins a run: its LEAVE has an attribute with the number of calls. Each further one increments this number and
   moves the LEAVE, in place, and its own ENTER, which was written before the call, is withdrawn.

   The time of a run is the sum of the times of its calls, so sums over calls stay exact. The time between the calls
   comes after the run. In a sampled thread the run lasts until the end of its last call, since samples in the calls
   would else lie outside of them; the time between the calls is then a third of the run at most.

   Each step leaves a valid chunk, since a crash may come at any moment and other processes may read the buffer: only
   whole words change, and no published record but the ENTER changes its kind or size. The busy word keeps signal
   handlers out. The thread that ends the program clears the limit and then waits for the busy word (end.c). */
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wtsan" /* which does not know fences */
#endif
#define _GNU_SOURCE
#include "process.h"

/* The time between the calls of a run is at most MOST_GAPS times the time in the calls, each gap is at most MOST_GAP
   times the mean call, and a run lasts at most LONGEST ticks (10 ms at 3 GHz): so the LEAVE is never far from the end of
   the last call. */
#define MOST_GAPS 2
#define MOST_GAP 8
#define LONGEST (UINT64_C(1) << 25)

static inline int is_close(const struct vt_polls *p, uint64_t gap, uint64_t spent, int sampled)
{
    const uint64_t gaps = p->gaps + gap;
    return (sampled ? 2 * gaps <= spent : gaps <= MOST_GAPS * spent) && gap * (p->calls + 1) <= MOST_GAP * spent;
}

/* Returns 1 if the location's newest records are the last failing poll, with the same records, and the ENTER of this
   one. */
static inline int repeats(const struct vt_polls *p, const uint64_t *at, const uint64_t *words, unsigned n)
{
    const uint64_t *end = p->end;
    if (!end || at != end + 1 || p->n != n || (uint32_t)end[-1] != (uint32_t)words[n - 1]) return 0;
    if ((uint32_t)end[0] != VT_WHAT(VT_K_ENTER, 0, VT_ID((uint32_t)words[n - 1]))) return 0;
    const uint64_t *old = end - n - (p->calls ? 2 : 0);
    if (n > 1 && (uint32_t)old[0] != (uint32_t)words[0]) return 0;
    for (unsigned i = 1; i + 1 < n; i++)
        if (old[i] != words[i]) return 0;
    return 1;
}

/* Adds a call to the run. A crash after the first store loses this call only. */
static inline void extend(struct vt_location *l, uint64_t now)
{
    struct vt_polls *p = &l->polls;
    uint64_t *end = p->end;
    vt_publish(l, end);
    atomic_signal_fence(memory_order_seq_cst);
    VT_SET(end[-2], ++p->calls);
    VT_SET(end[-1], p->moved << 32 | (uint32_t)end[-1]);
    VT_SET(l->last, p->begun + p->moved);
    p->ended = now;
}

/* Writes the records of a call, with the attribute if it is not 0. */
static inline void begin(struct vt_location *l, uint32_t attribute, const uint64_t *words, unsigned n, uint64_t now)
{
    struct vt_polls *p = &l->polls;
    uint64_t *const first = l->cursor, *at = first, time = (now - l->last) << 32;
    p->end = NULL;
    p->calls = attribute != 0;
    p->n = n;
    p->gaps = 0;
    p->spent = now - l->last;
    p->moved = 0;
    p->begun = p->ended = now;
    const int follows = (uint32_t)first[-1] == VT_WHAT(VT_K_ENTER, 0, VT_ID((uint32_t)words[n - 1]));
    for (unsigned i = 0; i + 1 < n; i++) VT_SET(*at++, words[i]);
    if (attribute) {
        VT_SET(*at++, VT_HEAD(VT_K_ATTRIBUTE, 1, attribute));
        VT_SET(*at++, 1);
    }
    VT_SET(*at++, words[n - 1]);
    VT_SET(*first, *first | time);
    VT_SET(l->last, now);
    vt_publish(l, at);
    if (follows) p->end = at;
}

/* Returns 1 if the call is recorded. *again: 1 if the call repeats the last one. Requires that l->busy is set. */
static inline int put(struct vt_location *l, uint32_t attribute, const uint64_t *words, unsigned n, int *again)
{
    struct vt_polls *p = &l->polls;
    if (VT_UNLIKELY(atomic_load_explicit(&vt_process.locations, memory_order_relaxed) > 1))
        atomic_thread_fence(memory_order_seq_cst); /* the limit is not loaded before others see the busy word */
    const uint64_t *limit = VT_READ(l->limit), *at = l->cursor;
    const uint64_t now = vt_now(), dt = now - l->last;
    struct vt_frame *f = VT_READ(l->frame);
    if (!limit || at + n + 2 > limit || VT_IS_LONG(dt)) return 0;
    if (!f || f->what != VT_FRAME_OF(VT_ID((uint32_t)words[n - 1])) || f->at < VT_OWN_FRAME) return 0;
    const uint64_t gap = l->last - p->ended; /* if the newest record is the ENTER */
    const int sampled = l->slot[VT_SLOT_SAMPLER] != NULL;
    *again = repeats(p, at, words, n) && is_close(p, gap, p->spent + dt, sampled) && !vt_window_is_due(now);
    if (*again && p->calls && now - p->begun < LONGEST) {
        p->gaps += gap;
        p->spent += dt;
        p->moved += sampled ? dt + gap : dt;
        extend(l, now);
    } else begin(l, *again ? attribute : 0, words, n, now);
    VT_SET(l->frame, f - 1);
    return 1;
}

int vt_write_poll(uint32_t attribute, uint64_t *words, unsigned n)
{
    struct vt_location *l = vt_own_location;
    int done = 0, again = 0;
    if (VT_LIKELY(l && !VT_READ(l->busy) && !vt_sees_records)) {
        vt_busy_begin(l);
        done = put(l, attribute, words, n, &again);
        vt_busy_end(l);
    }
    if (!done) vt_write(words, n);
    return again;
}
