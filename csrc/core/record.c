/* SPDX-License-Identifier: BSD-3-Clause */
/* Recording for shims. Function events have their own code in funwrap. */
#define _GNU_SOURCE
#include <string.h>
#include "process.h"

/* Counts the calls of a watched region. Writes records at which counters are read; then returns 1. */
static int see(struct vt_location *l, const uint64_t *words, unsigned n)
{
    uint32_t what = (uint32_t)words[0];
    if (what == VT_READ(vt_window_enters[0]) || what == VT_READ(vt_window_enters[1])) vt_window_enter(l, what);
    enum vt_kind kind = vt_groups_want(words, n);
    if (!kind) return 0;
    vt_groups_write(l, kind, words, n);
    if (VT_READ(vt_window_leave)) vt_window_wrote(vt_location_to_record(0), words, n);
    return 1;
}

/* The time since the last event may be that of a long call. */
static void see_long_call(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t now)
{
    if (now <= l->last || !VT_IS_LONG(now - l->last) || l != vt_own_location || l->off || atomic_load(&vt_process.off))
        return;
    if (VT_UNLIKELY(VT_READ(l->vforked)) && vt_is_vfork_child(l)) return;
    vt_busy_end(l); /* a signal handler may record: nothing has changed yet */
    vt_long_call(l, words, n, now);
    vt_busy_begin(l);
}

/* Writes a record that the fast path does not write. Returns its time; 0: the record may be missing. After a fork that
   calls no fork handlers (_Fork, a system call) the thread of the child still has its parent's location. */
static uint64_t put(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t now)
{
    struct vt_location *own = l;
    if (VT_UNLIKELY(!l->in_use) && l == vt_own_location) own = vt_location_to_record(vt_events_in(words, n));
    if (own == l) {
        see_long_call(l, words, n, now);
        vt_put(l, words, n, now);
    } else if (own) {
        vt_busy_begin(own);
        vt_put(own, words, n, vt_now());
        vt_busy_end(own);
    }
    return own == l && VT_READ(l->last) >= now ? now : 0;
}

uint64_t vt_write_words(uint64_t *words, unsigned n)
{
    struct vt_location *l = vt_own_location;
    if (VT_UNLIKELY(!l || VT_READ(l->busy)))
        if (!(l = vt_location_to_record(vt_events_in(words, n)))) return 0;
    if (VT_UNLIKELY(vt_sees_records) && see(l, words, n)) return 0;
    vt_busy_begin(l);
    uint64_t now = vt_now(), dt = now - l->last, *at = l->cursor, written = now;
    if (VT_UNLIKELY(at + n > VT_READ(l->limit) || VT_IS_LONG(dt))) written = put(l, words, n, now);
    else {
        at[0] = dt << 32 | (uint32_t)words[0];
        /* one word at a time: a load of two words just stored one by one stalls the processor */
        for (unsigned i = 1; i < n; i++) VT_SET(at[i], words[i]);
        VT_SET(l->last, now);
        vt_publish(l, at + n);
    }
    vt_busy_end(l);
    if (VT_UNLIKELY(VT_READ(vt_window_leave))) vt_window_wrote(vt_location_to_record(0), words, n);
    return written;
}

/* ---- The frames of wrapped calls ---- */

_Thread_local uintptr_t vt_called_at __attribute__((tls_model("initial-exec")));

/* Returns the location if the thread may change its frames now. */
static struct vt_location *ready(void)
{
    struct vt_location *l = vt_location_to_record(0);
    return l && !(VT_READ(l->vforked) && vt_is_vfork_child(l)) ? l : NULL;
}

/* Before the record with the enter of a wrapped call. */
static __attribute__((noinline)) void open_call(uint32_t region)
{
    const uintptr_t at = vt_called_at, here = VT_OWN_FRAME;
    vt_called_at = 0;
    struct vt_location *l = ready();
    if (!l || at - here > VT_WRAPPER_STACK) return; /* set by a wrapper that recorded no enter */
    vt_busy_begin(l);
    vt_frames_open(l, at, region);
    vt_busy_end(l);
}

/* Before the record with the leave of a call, if the innermost frame is dead or is the frame of another call. */
static __attribute__((noinline)) void close_call(uint32_t region)
{
    struct vt_location *l = ready();
    if (!l) return;
    vt_busy_begin(l);
    vt_frames_close(l, VT_OWN_FRAME, region);
    vt_busy_end(l);
}

/* last: the last word of records */
static inline void before_last(uint64_t last)
{
    if (last >> 24 != VT_K_LEAVE || !vt_own_location) return;
    struct vt_frame *f = VT_READ(vt_own_location->frame);
    if (!f || f->at == UINTPTR_MAX) return;
    if (f->what & VT_FRAME_CALL || f->at < VT_OWN_FRAME) close_call(VT_ID((uint32_t)last));
}

static __attribute__((noinline)) void before_enter(const uint64_t *words, unsigned n)
{
    for (unsigned i = 0; i < n; i += 1 + VT_WORDS((uint32_t)words[i])) {
        const uint32_t what = (uint32_t)words[i];
        if (!(what & VT_FUNCTION) && VT_KIND(what) == VT_K_ENTER) open_call(VT_ID(what));
    }
}

void vt_write(uint64_t *words, unsigned n)
{
    if (VT_UNLIKELY(vt_called_at)) before_enter(words, n);
    before_last(words[n - 1]);
    vt_write_words(words, n);
}

/* ---- Records of few words ---- */

__attribute__((noinline, cold)) uint64_t vt_write_slow(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                                                       unsigned n)
{
    uint64_t words[] = {a, b, c, d, e};
    before_last(words[n - 1]);
    return vt_write_words(words, n);
}

__attribute__((noinline, cold)) void vt_write_enter_slow(uintptr_t at, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                                         uint64_t e, unsigned n)
{
    uint64_t words[] = {a, b, c, d, e};
    vt_called_at = at;
    vt_write(words, n);
}

static inline __attribute__((always_inline)) void write_record(uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                                               uint64_t e, unsigned n)
{
    const uint64_t last = n == 1 ? a : n == 2 ? b : n == 3 ? c : n == 4 ? d : e;
    const uintptr_t at = vt_called_at;
    if (at && a >> 24 == VT_K_ENTER && at - VT_OWN_FRAME < VT_WRAPPER_STACK) {
        vt_called_at = 0;
        vt_write_framed(VT_FRAME_OPENS, at, VT_ID((uint32_t)a), a, b, c, d, e, n);
        return;
    }
    if (last >> 24 == VT_K_LEAVE) {
        struct vt_location *l = vt_own_location;
        const struct vt_frame *f = l ? VT_READ(l->frame) : NULL;
        if (f && f->what == VT_FRAME_OF(VT_ID((uint32_t)last)) && f->at >= VT_OWN_FRAME) {
            vt_write_framed(VT_FRAME_CLOSES, f->at, 0, a, b, c, d, e, n);
            return;
        }
        before_last(last);
    }
    vt_write_few(a, b, c, d, e, n);
}

void vt_write_1(uint64_t a) { write_record(a, 0, 0, 0, 0, 1); }
void vt_write_2(uint64_t a, uint64_t b) { write_record(a, b, 0, 0, 0, 2); }
void vt_write_3(uint64_t a, uint64_t b, uint64_t c) { write_record(a, b, c, 0, 0, 3); }
void vt_write_4(uint64_t a, uint64_t b, uint64_t c, uint64_t d) { write_record(a, b, c, d, 0, 4); }
void vt_write_5(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e) { write_record(a, b, c, d, e, 5); }

void vt_enter(uint32_t region) { write_record(VT_HEAD(VT_K_ENTER, 0, region), 0, 0, 0, 0, 1); }
void vt_leave(uint32_t region) { write_record(VT_HEAD(VT_K_LEAVE, 0, region), 0, 0, 0, 0, 1); }

uint32_t vt_location_number(void)
{
    struct vt_location *l = vt_location_of_thread(0);
    return l ? l->number : VT_NO_LOCATION;
}

void vt_note_code(uintptr_t address)
{
    struct vt_location *l = vt_location_to_record(0);
    if (!l) return;
    vt_busy_begin(l);
    vt_code_offset(l, address);
    vt_busy_end(l);
}

uint64_t vt_ticks(void) { return vt_now(); }

void vt_switch(int on)
{
    struct vt_location *l = vt_location_to_record(0);
    if (l) vt_switch_at(l, on, 0);
}
