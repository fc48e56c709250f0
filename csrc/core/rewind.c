/* SPDX-License-Identifier: BSD-3-Clause */
/* Rewind: discards the records of a location since its mark, as if recording had been off. Later chunks than the chunk
   of the mark are released, newest first; then the location writes into the chunk of the mark again. If the process
   crashes in between, a reader of the buffer finds a prefix of the records. If the mark and the rewind are at different
   depths of the stack, extra enter and leave records repair the stack. */
#define _GNU_SOURCE
#include <string.h>
#include "recording.h"

/* Requires that l->busy is set. */
static void set_mark(struct vt_location *l)
{
    uint64_t now = vt_now(), word = VT_HEAD(VT_K_REWIND_MARK, 0, 0);
    l->mark.chunk = NULL;
    l->mark.voided = 0;
    vt_switch_follow(l, now);
    if (l->stopped) return;
    vt_put_record(l, &word, 1, now);
    vt_stay_off(l);
    if (!l->chunk || !l->cursor || l->stopped) return;
    l->mark.offset = (uint32_t)((char *)l->cursor - (char *)l->chunk);
    l->mark.off = l->off;
    l->mark.last = l->last;
    l->mark.lost_told = l->lost_told;
    l->mark.chunk = l->chunk;
}

void vt_set_rewind_mark(struct vt_location *l)
{
    if (VT_READ(l->vforked) && vt_is_vfork_child(l)) return;
    vt_busy_begin(l);
    set_mark(l);
    vt_busy_end(l);
}

struct region_stack {
    uint32_t depth;
    uint64_t open[VT_OPEN_MAX];
};

/* Finds the stacks at the mark and now. Returns how many of the outermost regions stayed open in between. */
static uint32_t stacks(const struct vt_location *l, struct region_stack *then, struct region_stack *now)
{
    struct vt_chunk *c = l->mark.chunk;
    uint32_t words = (l->mark.offset - VT_CHUNK_DATA) / 8, least = c->depth;
    memcpy(then->open, c->open, sizeof then->open);
    then->depth = vt_replay_part(then->open, c->depth, vt_chunk_words(c), words, &least);
    *now = *then;
    least = then->depth;
    for (;;) {
        uint32_t n = vt_chunk_used(c) / 8 - words;
        now->depth = vt_replay_part(now->open, now->depth, vt_chunk_words(c) + words, n, &least);
        if (c == l->chunk) return least;
        words = 0;
        c = c == l->full_last ? l->chunk : vt_chunk_next(c);
        if (!c) return least;
    }
}

/* Removes the last chunk from the list of full chunks. */
static struct vt_chunk *take_last(struct vt_location *l)
{
    struct vt_chunk *last = l->full_last, *c = l->full;
    if (c == last) l->full = l->full_last = NULL;
    else {
        while (vt_chunk_next(c) != last) c = vt_chunk_next(c);
        VT_SET(c->next, 0);
        l->full_last = c;
    }
    VT_SET(l->records, l->records - last->records);
    return last;
}

/* The full chunk of the mark becomes the current chunk; later chunks are released. The filter of known functions is
   cleared, since the discarded chunks may have been the first to contain a function. */
static void go_back(struct vt_location *l)
{
    struct vt_chunk *c = l->mark.chunk;
    if (l->chunk) {
        vt_chunk_give(l->chunk);
        l->chunks--;
    }
    while (l->full_last != c) {
        vt_chunk_give(take_last(l));
        l->chunks--;
    }
    take_last(l);
    c->classes = VT_CLASS_ALL;
    __atomic_store_n(&c->state, VT_CHUNK_FILLING, __ATOMIC_RELEASE);
    VT_SET(l->chunk, c);
    l->sequence = c->sequence + 1;
    l->depth = c->depth;
    l->nopen = c->nopen;
    memcpy(l->open, c->open, sizeof l->open);
    memset(l->filter, 0xff, sizeof l->filter);
}

/* Requires the lock of the location. */
static void discard(struct vt_location *l)
{
    struct vt_chunk *c = l->mark.chunk;
    if (c != l->chunk) go_back(l);
    __atomic_store_n(&c->head, (uint16_t)l->mark.offset, __ATOMIC_RELEASE);
    l->polls.end = NULL;
    l->cursor = (uint64_t *)((char *)c + l->mark.offset);
    VT_SET(l->limit, NULL);
    VT_SET(l->last, l->mark.last);
    l->lost_told = l->mark.lost_told;
}

static void put(struct vt_location *l, uint64_t open, int enter, uint64_t when)
{
    uint64_t address[2] = {enter ? VT_HEAD(VT_K_ENTER_ADDRESS, 1, 0) : VT_HEAD(VT_K_LEAVE_ADDRESS, 1, 0),
                           open & ~VT_OPEN_ADDRESS};
    if (open & VT_OPEN_ADDRESS) {
        vt_put_record(l, address, 2, when);
        return;
    }
    uint32_t what = (uint32_t)open;
    if (!enter) what = what & VT_FUNCTION ? what | VT_FUNCTION_LEAVE : VT_WHAT(VT_K_LEAVE, 0, VT_ID(what));
    uint64_t word = what;
    vt_put_record(l, &word, 1, when);
}

/* Writes a leave for each region left since the mark, then a REWOUND record for the gap, then an enter for each region
   that was entered since the mark and is still open. */
static void tell(struct vt_location *l, const struct region_stack *then, const struct region_stack *here, uint32_t kept,
                 uint64_t now)
{
    uint64_t gap[2] = {VT_HEAD(VT_K_REWOUND, 1, 0), now > l->last ? now - l->last : 0};
    uint64_t on = VT_HEAD(VT_K_ON, 0, 0), off = VT_HEAD(VT_K_OFF, 0, 0);
    for (uint32_t i = then->depth; i > kept; i--) put(l, then->open[i - 1], 0, l->last);
    vt_put_record(l, gap, 2, l->last);
    if (l->mark.off && !l->off) vt_put_record(l, &on, 1, now);
    for (uint32_t i = kept; i < here->depth; i++) put(l, here->open[i], 1, now);
    if (!l->mark.off && l->off) vt_put_record(l, &off, 1, now);
    vt_stay_off(l);
}

/* Requires that l->busy is set. */
static void rewind_to_mark(struct vt_location *l)
{
    static const char at_another[] =
        "VT_REWIND is at another level of the call stack than VT_SET_REWIND_MARK: vtrace adds leaves and enters of "
        "regions";
    struct region_stack then, here;
    uint64_t now = vt_now();
    vt_switch_follow(l, now);
    if (!vt_location_lock(l)) return;
    int marked = l->mark.chunk && !l->stopped;
    uint32_t kept = marked ? stacks(l, &then, &here) : 0;
    int known = marked && ((then.depth <= VT_OPEN_MAX && here.depth <= VT_OPEN_MAX) ||
                           (then.depth == kept && here.depth == kept));
    if (known) discard(l);
    vt_location_unlock(l);
    if (known) tell(l, &then, &here, kept, now);
    if (known && then.depth != here.depth) vt_warn(at_another);
    else if (marked && !known)
        vt_warn("VT_REWIND at a level of the call stack above %u: nothing is discarded", VT_OPEN_MAX);
    else if (!marked && l->mark.voided && vt_process.set.mode == VT_MODE_RING)
        vt_warn("VT_REWIND discards nothing: records since VT_SET_REWIND_MARK are already overwritten or in the local "
                "files; set a larger VT_BUFFER_SIZE");
    else if (!marked && l->mark.voided)
        vt_warn("VT_REWIND discards nothing: records since VT_SET_REWIND_MARK are already in the local files; set a "
                "larger VT_BUFFER_SIZE");
    else if (!marked && !l->stopped) vt_warn("VT_REWIND without VT_SET_REWIND_MARK before it: nothing is discarded");
}

/* Discards the records after a moment (ticks), which lies in the current chunk. Writes a leave for each region that was
   left since then. Returns how many regions were entered since then and are still open; `open` receives them. Does
   nothing if the stack is deeper than VT_OPEN_MAX. Requires that l->busy is set, or that the location records no
   more. */
unsigned vt_cut(struct vt_location *l, uint64_t when, uint64_t open[VT_OPEN_MAX])
{
    struct region_stack then, here;
    struct vt_chunk *c = l->chunk;
    if (!c || !vt_location_lock(l)) return 0;
    uint64_t *words = vt_chunk_words(c), now = c->ticks;
    uint32_t n = vt_chunk_used(c) / 8, at = 0, least = c->depth;
    for (uint32_t i = 0; i < n; i += 1 + VT_WORDS((uint32_t)words[i])) {
        uint32_t what = (uint32_t)words[i];
        now += (words[i] >> 32) + (!(what & VT_FUNCTION) && VT_KIND(what) == VT_K_TIME ? words[i + 1] : 0);
        if (now > when) break;
        at = i + 1 + VT_WORDS(what);
    }
    memcpy(then.open, c->open, sizeof then.open);
    then.depth = vt_replay_part(then.open, c->depth, words, at, &least);
    here = then;
    least = then.depth;
    here.depth = vt_replay_part(here.open, here.depth, words + at, n - at, &least);
    int known =
        (then.depth <= VT_OPEN_MAX && here.depth <= VT_OPEN_MAX) || (then.depth == least && here.depth == least);
    if (known) {
        __atomic_store_n(&c->head, (uint16_t)(VT_CHUNK_DATA + 8 * at), __ATOMIC_RELEASE);
        l->polls.end = NULL;
        l->cursor = words + at;
        VT_SET(l->limit, NULL);
        VT_SET(l->last, vt_replay_times(c, &l->lost_told));
        l->mark.chunk = NULL;
    }
    vt_location_unlock(l);
    if (!known) return 0;
    for (uint32_t i = then.depth; i > least; i--) put(l, then.open[i - 1], 0, when);
    memcpy(open, here.open + least, (here.depth - least) * sizeof *open);
    return here.depth - least;
}

void vt_rewind(struct vt_location *l)
{
    if (VT_READ(l->vforked) && vt_is_vfork_child(l)) return;
    vt_busy_begin(l);
    rewind_to_mark(l);
    vt_busy_end(l);
}
