/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of call paths of a location, for VT_MODE=PROFILE. Its rows are in chunks of the buffer file, so that they
   outlive a killed process; the index of the rows is in memory of the process. All locations together have the chunks of
   VT_PROFILE_SIZE, and each has at least one. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include "location.h"

#define LEAST_INDEX 512u

/* Takes another chunk for rows. Returns NULL if the profile has used up `most` chunks, or if there is no memory. */
static struct vt_chunk *take_chunk(struct vt_location *l, struct vt_profile *t, uint64_t most)
{
    struct vt_chunk *c = NULL;
    if (atomic_fetch_add(&vt_process.profile_chunks, 1) < most) c = vt_chunk_take();
    if (!c) {
        atomic_fetch_sub(&vt_process.profile_chunks, 1);
        return NULL;
    }
    c->content = VT_PROFILE;
    VT_SET(c->head, VT_CHUNK_DATA);
    c->location = l->number;
    c->sequence = t->sequence++;
    c->thread = l->thread;
    c->ticks = l->last;
    c->pair = vt_clock_recent();
    c->lost = c->dropped = c->end_ticks = 0;
    c->depth = c->nopen = c->records = c->classes = c->counted = c->kept = 0;
    VT_SET(c->next, 0);
    __atomic_store_n(&c->state, VT_CHUNK_FILLING, __ATOMIC_RELEASE);
    return c;
}

static int add_chunk(struct vt_location *l, struct vt_profile *t)
{
    struct vt_chunk *c = take_chunk(l, t, t->first ? vt_process.set.profile_size / VT_CHUNK_SIZE : UINT64_MAX);
    if (!c) return 0;
    if (t->last) VT_SET(t->last->next, (uint32_t)((uintptr_t)c / VT_CHUNK_SIZE));
    else t->first = c;
    t->last = c;
    return 1;
}

struct vt_chunk *vt_profile_chunk(struct vt_location *l, struct vt_profile *t)
{
    struct vt_chunk *c = take_chunk(l, t, UINT64_MAX);
    if (!c) return NULL;
    VT_SET(c->next, (uint32_t)((uintptr_t)t->first / VT_CHUNK_SIZE)); /* t->last gets the next row of a path */
    t->first = c;
    return c;
}

static struct vt_profile_row *add_row(struct vt_location *l, struct vt_profile *t, uint32_t parent, uint64_t what)
{
    if (!t->last || vt_chunk_used(t->last) / sizeof(struct vt_profile_row) == VT_PROFILE_ROWS) {
        if (!add_chunk(l, t)) return NULL;
    }
    struct vt_chunk *c = t->last;
    const uint32_t place = vt_chunk_used(c) / (uint32_t)sizeof(struct vt_profile_row);
    struct vt_profile_row *row = (struct vt_profile_row *)(void *)vt_chunk_words(c) + place;
    *row = (struct vt_profile_row){.what = what, .parent = parent, .least = UINT64_MAX};
    row->number = c->sequence * (uint32_t)VT_PROFILE_ROWS + place;
    __atomic_store_n(&c->head, (uint16_t)(uintptr_t)(row + 1), __ATOMIC_RELEASE);
    return row;
}

/* ---- The index ---- */

static uint32_t place_of(const struct vt_profile *t, uint32_t parent, uint64_t what)
{
    const uint64_t h = (what ^ (uint64_t)parent << 32 ^ parent) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(h >> 32) & t->mask;
}

static void enter_index(struct vt_profile *t, struct vt_profile_row *row)
{
    uint32_t at = place_of(t, row->parent, row->what);
    while (t->index[at]) at = (at + 1) & t->mask;
    t->index[at] = row;
    t->filled++;
}

/* Doubles the index. Returns 0 if there is no memory. */
static int grow(struct vt_profile *t)
{
    struct vt_profile_row **old = t->index;
    const uint32_t n = old ? t->mask + 1 : 0, size = n ? 2 * n : LEAST_INDEX;
    struct vt_profile_row **index = vt_pages_wiped(size * sizeof *index);
    if (!index) return 0;
    t->index = index;
    t->mask = size - 1;
    t->filled = 0;
    for (uint32_t i = 0; i < n; i++)
        if (old[i]) enter_index(t, old[i]);
    if (old) VT_SYS2(munmap, old, n * sizeof *old);
    return 1;
}

struct vt_profile_row *vt_profile_row(struct vt_location *l, const struct vt_profile_row *parent, uint64_t what)
{
    struct vt_profile *t = l->profile;
    struct vt_profile_row *row;
    for (uint32_t at = place_of(t, parent->number, what); (row = t->index[at]); at = (at + 1) & t->mask)
        if (row->what == what && row->parent == parent->number) return row;
    if (t->full) return NULL;
    if (2 * t->filled <= t->mask || grow(t)) row = add_row(l, t, parent->number, what);
    if (row) {
        enter_index(t, row);
        atomic_fetch_add(&vt_process.profile_rows, 1);
    }
    t->full = !row;
    return row;
}

/* ---- Begin and end of a table ---- */

/* The calls that were open in the table before, and that are counted there. */
static void continue_calls(struct vt_location *l, struct vt_profile *t)
{
    for (uint32_t i = 0; i < t->nkept; i++) {
        struct vt_profile_row *row = vt_profile_row(l, t->stack[t->depth], t->kept[i].what);
        if (!row) break;
        row->entered = t->kept[i].entered;
        row->turns = -1;
        t->stack[++t->depth] = row;
    }
    if (t->kept) VT_SYS2(munmap, t->kept, VT_PROFILE_DEPTH * sizeof *t->kept);
    t->kept = NULL;
    t->nkept = 0;
}

struct vt_profile *vt_profile_of(struct vt_location *l)
{
    struct vt_profile *t = l->profile;
    if (!t) t = l->profile = vt_pages_wiped(sizeof *t);
    if (!t || t->first) return t;
    if (!t->index && !grow(t)) return NULL;
    t->stack[0] = add_row(l, t, 0, 0);
    if (!t->stack[0]) return NULL;
    t->stack[0]->parent = t->stack[0]->number;
    continue_calls(l, t);
    return t;
}

void vt_profile_keep(struct vt_location *l)
{
    struct vt_profile *t = l->profile;
    if (!t || !t->first) return;
    t->kept = t->depth ? vt_pages_wiped(VT_PROFILE_DEPTH * sizeof *t->kept) : NULL;
    t->nkept = t->kept ? t->depth : 0;
    for (uint32_t i = 0; i < t->nkept; i++) t->kept[i] = *t->stack[i + 1];
    memset(t->stack, 0, sizeof t->stack);
    memset(t->index, 0, (t->mask + 1) * sizeof *t->index);
    t->first = t->last = NULL;
    memset(l->counts, 0, sizeof l->counts);
    memset(l->count_chunks, 0, sizeof l->count_chunks);
    t->filled = t->full = t->depth = t->beyond = t->nteams = 0;
    l->spare = NULL;
    atomic_store(&vt_process.profile_chunks, 0);
    atomic_store(&vt_process.profile_rows, 0);
}
