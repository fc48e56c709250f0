/* SPDX-License-Identifier: BSD-3-Clause */
/* VT_KEEP: chooses the iterations of a location that stay in full. An iteration is an outermost call of the region
   VT_ITERATION. It stays by its number on its thread (first:N, every:N), or by its duration against those before on this
   thread (slowest:P%). thin.c takes the calls in all other iterations out of a full chunk, and counts them. Only the end
   of an iteration may tell that it stays: until then its chunks are held, and are written last. If they fill the buffer,
   the iteration stays. trigger.c has VT_TRIGGER, which needs the same durations. */
#define _GNU_SOURCE
#include <string.h>
#include "location.h"

#define REGIONS 8u /* ids or places in the code of the region */
#define STEPS 16u /* durations that differ by less than 1/STEPS of a power of two are equal */
#define STEP_BITS 4

static _Atomic uint64_t watched[REGIONS]; /* as in vt_chunk.open */
static _Atomic uint32_t nwatched;

int vt_keep_is_name(const char *name)
{
    return *vt_process.set.iteration && name && !strcmp(name, vt_process.set.iteration);
}

void vt_keep_watch(uint64_t what)
{
    const uint32_t n = atomic_load(&nwatched);
    for (uint32_t i = 0; i < n && i < REGIONS; i++)
        if (atomic_load(&watched[i]) == what) return;
    const uint32_t place = atomic_fetch_add(&nwatched, 1);
    if (place < REGIONS) atomic_store(&watched[place], what);
}

int vt_keep_is_iteration(uint64_t what)
{
    const uint32_t n = atomic_load_explicit(&nwatched, memory_order_relaxed);
    for (uint32_t i = 0; i < n && i < REGIONS; i++)
        if (atomic_load_explicit(&watched[i], memory_order_relaxed) == what) return 1;
    return 0;
}

struct vt_keep *vt_keep_of(struct vt_location *l)
{
    const struct vt_settings *set = &vt_process.set;
    if (l->keep || !vt_keep_looks()) return l->keep;
    struct vt_keep *k = vt_pages_wiped(sizeof *k);
    if (!k) return NULL;
    if (*set->trigger) vt_setting_trigger(set->trigger, &k->rules);
    else vt_setting_keep(set->keep, &k->rules);
    k->is_main = !l->number;
    return l->keep = k;
}

/* ---- Durations ---- */

static uint32_t step_of(uint64_t ticks)
{
    if (ticks < STEPS) return (uint32_t)ticks;
    const uint32_t above = 63 - (uint32_t)__builtin_clzll(ticks) - STEP_BITS;
    return (above + 1) * STEPS + (uint32_t)(ticks >> above) % STEPS;
}

uint64_t vt_keep_median(const struct vt_keep *k)
{
    const uint32_t step = k->slow - 1;
    return step < STEPS ? step : (uint64_t)(STEPS + step % STEPS) << (step / STEPS - 1);
}

/* 1: so many iterations are fewer than the share of the slowest ones, the next one included. */
static int are_few(const struct vt_keep *k, uint64_t iterations)
{
    return iterations * VT_KEEP_ALL < k->rules.slowest * (k->ended + 1);
}

static int is_slow(const struct vt_keep *k, uint64_t ticks) { return k->rules.slowest && step_of(ticks) >= k->slow; }

/* Returns 1 if an iteration stays. Ranks that wait for each other in it measure almost the same duration, and the first one
   decides; an iteration that takes twice as long as the others on this rank stays anyway. */
static int is_chosen(const struct vt_keep *k, uint64_t number, uint64_t ticks)
{
    const int slow = is_slow(k, ticks);
    if (!k->is_main || !k->rules.slowest) return slow;
    return vt_node_keeps(number, slow, slow && step_of(ticks) >= k->slow + STEPS);
}

/* k->slow is the shortest duration that fewer iterations than the share reached, k->slower their number. */
static void add_duration(struct vt_keep *k, uint64_t ticks)
{
    const uint32_t step = step_of(ticks);
    k->ended++;
    k->durations[step]++;
    k->slower += step >= k->slow;
    while (!are_few(k, k->slower)) k->slower -= k->durations[k->slow++];
    while (k->slow && are_few(k, k->slower + k->durations[k->slow - 1])) k->slower += k->durations[--k->slow];
}

/* ---- The fate of an iteration ---- */

static void decide(struct vt_keep *k, uint32_t index, enum vt_fate fate)
{
    k->fates[index] = (uint8_t)fate;
    if (fate == VT_LEFT_OUT) VT_SET(k->left_out, k->left_out + 1);
    if (fate == VT_LEFT_OUT) k->changed = 1;
}

void vt_keep_begins(struct vt_keep *k, const struct vt_iteration *i)
{
    const struct vt_keep_rules *r = &k->rules;
    if (k->fates[i->index] != VT_UNDECIDED) return;
    VT_SET(k->iterations, i->number);
    if (*vt_process.set.trigger) {
        decide(k, i->index, VT_KEPT);
        vt_trigger_begins(k, i->entered);
    } else if (i->number <= r->first || (r->every && i->number % r->every == 0)) decide(k, i->index, VT_KEPT);
    else if (!r->slowest) decide(k, i->index, VT_LEFT_OUT);
}

void vt_keep_ends(struct vt_keep *k, const struct vt_iteration *i, uint64_t now)
{
    const uint64_t ticks = now - i->entered;
    if (k->fates[i->index] == VT_UNDECIDED) decide(k, i->index, is_chosen(k, i->number, ticks) ? VT_KEPT : VT_LEFT_OUT);
    if (!i->index && k->fates[0] == VT_KEPT) k->held = NULL;
    if (*vt_process.set.trigger) vt_trigger_ends(k, i->number, ticks, now);
    if (k->rules.slowest) add_duration(k, ticks);
}

void vt_keep_judged(struct vt_keep *k, const struct vt_iteration *i, uint64_t now)
{
    k->open = *i;
    if (!i->at || k->fates[i->index] != VT_UNDECIDED || !is_slow(k, now - i->entered)) return;
    if (!is_chosen(k, i->number, now - i->entered)) return; /* it may insist later */
    decide(k, i->index, VT_KEPT);
    if (!i->index) k->held = NULL;
}

void vt_keep_next_chunk(struct vt_keep *k, struct vt_chunk *c)
{
    const uint8_t fate = k->open.at ? k->fates[k->open.index] : VT_UNDECIDED;
    if (k->open.at && fate == VT_UNDECIDED && !k->held) {
        k->held = c;
        k->held_from = k->open.begin;
    }
    memset(k->fates, VT_UNDECIDED, sizeof k->fates);
    k->fates[0] = fate;
    k->open.index = k->open.begin = 0;
    k->start = k->open;
    k->seen = 0;
}

/* ---- Held chunks ---- */

void vt_keep_written(struct vt_location *l, const struct vt_chunk *c)
{
    struct vt_keep *k = l->keep;
    if (!k || k->held != c) return;
    k->held = NULL;
    if (k->is_main) vt_node_keeps(k->open.number, 1, 1);
    decide(k, k->open.index, VT_KEPT);
}

uint32_t vt_keep_ready(struct vt_location *l)
{
    const struct vt_keep *k = l->keep;
    uint32_t n = 0;
    if (!k || (!k->held && !k->out)) return UINT32_MAX;
    for (struct vt_chunk *c = l->full; c && c != k->held && c != k->out; c = vt_chunk_next(c)) n++;
    return n ? n : UINT32_MAX;
}

/* ---- The end ---- */

void vt_keep_define(struct vt_location *l)
{
    char key[32], value[48];
    const struct vt_keep *k = l->keep;
    if (!k || *vt_process.set.trigger) return;
    struct vt_text t = vt_text_into(key, sizeof key);
    vt_text_add(&t, "iterations.");
    vt_text_dec(&t, l->number);
    t = vt_text_into(value, sizeof value);
    vt_text_dec(&t, VT_READ(k->iterations));
    vt_text_add(&t, " ");
    vt_text_dec(&t, VT_READ(k->left_out));
    vt_define_property(l, key, value);
}
