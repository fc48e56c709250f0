/* SPDX-License-Identifier: BSD-3-Clause */
#include "containers.h"
#include <stdlib.h>

#define FEWEST 64u /* the initial room, in items */
#define CHANNELS 4096u /* number of channels that may stay without messages */

int vt_grow(void **array, uint64_t size, uint64_t needed, uint64_t *room)
{
    const uint64_t more = 2 * needed > FEWEST ? 2 * needed : FEWEST;
    void *larger = needed > *room ? realloc(*array, more * size) : NULL;
    if (!larger) return needed <= *room;
    *array = larger;
    *room = more;
    return 1;
}

int vt_grow_for_next(void **array, uint64_t size, uint64_t count)
{
    if (count & (count - 1)) return 1; /* full at 0 and at powers of two */
    void *larger = realloc(*array, (count ? 2 * count : 1) * size);
    if (larger) *array = larger;
    return larger != NULL;
}

/* ---- Tables ---- */

static int grow(struct vt_pair_table *t)
{
    struct vt_pair_table larger = {NULL, t->count, t->size ? t->size * 2 : 64};
    larger.entries = calloc(larger.size, sizeof *larger.entries);
    if (!larger.entries) return 0;
    for (uint64_t i = 0; i < t->size; i++)
        if (t->entries[i].value)
            larger.entries[vt_pair_table_place(&larger, t->entries[i].a, t->entries[i].b)] = t->entries[i];
    free(t->entries);
    *t = larger;
    return 1;
}

int vt_pair_table_set(struct vt_pair_table *t, uint64_t a, uint64_t b, uint64_t value)
{
    if (t->count * 2 >= t->size && !grow(t)) return 0;
    struct vt_entry *entry = &t->entries[vt_pair_table_place(t, a, b)];
    t->count += !entry->value;
    *entry = (struct vt_entry){a, b, value};
    return 1;
}

/* The following entries move up, so that no chain breaks (Knuth, The Art of Computer Programming 3, 6.4, R). */
void vt_pair_table_drop(struct vt_pair_table *t, uint64_t a, uint64_t b)
{
    if (!t->count) return;
    uint64_t mask = t->size - 1, hole = vt_pair_table_place(t, a, b);
    if (!t->entries[hole].value) return;
    t->count--;
    for (uint64_t at = (hole + 1) & mask; t->entries[at].value; at = (at + 1) & mask) {
        uint64_t wanted = vt_pair_table_home(t, t->entries[at].a, t->entries[at].b);
        if (((at - wanted) & mask) < ((at - hole) & mask)) continue;
        t->entries[hole] = t->entries[at];
        hole = at;
    }
    t->entries[hole].value = 0;
}

void vt_pair_table_free(struct vt_pair_table *t)
{
    free(t->entries);
    *t = (struct vt_pair_table){NULL, 0, 0};
}

/* ---- Channels ---- */

struct vt_queue *vt_channels_at(const struct vt_channels *c, uint64_t place)
{
    return (struct vt_queue *)(uintptr_t)c->queues.entries[place].value;
}

/* Removes channels without messages, so that tags that are used once take no memory. */
static int sweep(struct vt_channels *c)
{
    struct vt_pair_table kept = {NULL, 0, 0};
    for (uint64_t k = 0; k < c->queues.size; k++) {
        const struct vt_entry *entry = &c->queues.entries[k];
        const struct vt_queue *q = vt_channels_at(c, k);
        if (q && q->first && !vt_pair_table_set(&kept, entry->a, entry->b, entry->value)) {
            vt_pair_table_free(&kept);
            return 0;
        }
    }
    for (uint64_t k = 0; k < c->queues.size; k++) {
        struct vt_queue *q = vt_channels_at(c, k);
        if (q && !q->first) free(q);
    }
    vt_pair_table_free(&c->queues);
    c->queues = kept;
    c->many = 2 * kept.count + CHANNELS;
    return 1;
}

struct vt_queue *vt_channels_get(struct vt_channels *c, uint32_t from, uint32_t to, uint32_t comm, uint32_t tag)
{
    const uint64_t a = (uint64_t)from << 32 | to, b = (uint64_t)comm << 32 | tag;
    struct vt_queue *q = (struct vt_queue *)(uintptr_t)vt_pair_table_get(&c->queues, a, b);
    if (q) return q;
    if (c->queues.count >= c->many && !sweep(c)) return NULL;
    if (!(q = calloc(1, sizeof *q))) return NULL;
    if (vt_pair_table_set(&c->queues, a, b, (uintptr_t)q)) return q;
    free(q);
    return NULL;
}

void vt_channels_free(struct vt_channels *c)
{
    for (uint64_t k = 0; k < c->queues.size; k++) free(vt_channels_at(c, k));
    vt_pair_table_free(&c->queues);
}
