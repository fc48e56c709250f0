/* SPDX-License-Identifier: BSD-3-Clause */
/* Recording for shims. Function events have their own code in funwrap. */
#define _GNU_SOURCE
#include <string.h>
#include "clock.h"
#include "counter_groups.h"
#include "location.h"
#include "module.h"
#include "process.h"
#include "recording_window.h"
#include "slow_path.h"
#include "switch.h"
#include "thread.h"

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

/* Writes a record for which the current chunk has no room. After a fork that calls no fork handlers (_Fork, a system
   call) the thread of the child still has its parent's location. */
static void put(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t now)
{
    struct vt_location *own = l;
    if (VT_UNLIKELY(!l->in_use) && l == vt_own_location) own = vt_location_to_record(vt_events_in(words, n));
    if (own == l) vt_put(l, words, n, now);
    else if (own) {
        vt_busy_begin(own);
        vt_put(own, words, n, vt_now());
        vt_busy_end(own);
    }
}

void vt_write(uint64_t *words, unsigned n)
{
    struct vt_location *l = vt_own_location;
    if (VT_UNLIKELY(!l || VT_READ(l->busy)))
        if (!(l = vt_location_to_record(vt_events_in(words, n)))) return;
    if (VT_UNLIKELY(vt_sees_records) && see(l, words, n)) return;
    vt_busy_begin(l);
    uint64_t now = vt_now(), dt = now - l->last, *at = l->cursor;
    if (VT_UNLIKELY(at + n > VT_READ(l->limit) || dt >> 32)) put(l, words, n, now);
    else {
        at[0] = dt << 32 | (uint32_t)words[0];
        /* one word at a time: a load of two words just stored one by one stalls the processor */
        for (unsigned i = 1; i < n; i++) VT_SET(at[i], words[i]);
        VT_SET(l->last, now);
        vt_publish(l, at + n);
    }
    vt_busy_end(l);
    if (VT_UNLIKELY(VT_READ(vt_window_leave))) vt_window_wrote(vt_location_to_record(0), words, n);
}

/* ---- Records of few words ---- */

__attribute__((noinline, cold)) void vt_write_slow(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                                                   unsigned n)
{
    uint64_t words[] = {a, b, c, d, e};
    vt_write(words, n);
}

void vt_write_1(uint64_t a) { vt_write_few(a, 0, 0, 0, 0, 1); }
void vt_write_2(uint64_t a, uint64_t b) { vt_write_few(a, b, 0, 0, 0, 2); }
void vt_write_3(uint64_t a, uint64_t b, uint64_t c) { vt_write_few(a, b, c, 0, 0, 3); }
void vt_write_4(uint64_t a, uint64_t b, uint64_t c, uint64_t d) { vt_write_few(a, b, c, d, 0, 4); }

void vt_write_5(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e) { vt_write_few(a, b, c, d, e, 5); }

void vt_enter(uint32_t region) { vt_write_few(VT_HEAD(VT_K_ENTER, 0, region), 0, 0, 0, 0, 1); }
void vt_leave(uint32_t region) { vt_write_few(VT_HEAD(VT_K_LEAVE, 0, region), 0, 0, 0, 0, 1); }

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
