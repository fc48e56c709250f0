/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include "pair_table.h"

static uint64_t home(const struct vt_pair_table *t, uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ b * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
    return (h ^ h >> 32) & (t->size - 1);
}

/* Returns the entry of the pair, or the free entry after its chain. */
static uint64_t place(const struct vt_pair_table *t, uint64_t a, uint64_t b)
{
    uint64_t at = home(t, a, b);
    while (t->entries[at].value && (t->entries[at].a != a || t->entries[at].b != b)) at = (at + 1) & (t->size - 1);
    return at;
}

uint64_t vt_pair_table_get(const struct vt_pair_table *t, uint64_t a, uint64_t b)
{
    return t->count ? t->entries[place(t, a, b)].value : 0;
}

uint64_t *vt_pair_table_find(const struct vt_pair_table *t, uint64_t a, uint64_t b)
{
    if (!t->count) return NULL;
    struct vt_entry *entry = &t->entries[place(t, a, b)];
    return entry->value ? &entry->value : NULL;
}

static int grow(struct vt_pair_table *t)
{
    struct vt_pair_table larger = {NULL, t->count, t->size ? t->size * 2 : 64};
    larger.entries = calloc(larger.size, sizeof *larger.entries);
    if (!larger.entries) return 0;
    for (uint64_t i = 0; i < t->size; i++)
        if (t->entries[i].value) larger.entries[place(&larger, t->entries[i].a, t->entries[i].b)] = t->entries[i];
    free(t->entries);
    *t = larger;
    return 1;
}

int vt_pair_table_set(struct vt_pair_table *t, uint64_t a, uint64_t b, uint64_t value)
{
    if (t->count * 2 >= t->size && !grow(t)) return 0;
    struct vt_entry *entry = &t->entries[place(t, a, b)];
    t->count += !entry->value;
    *entry = (struct vt_entry){a, b, value};
    return 1;
}

/* The following entries move up, so that no chain breaks (Knuth, The Art of Computer Programming 3, 6.4, R). */
void vt_pair_table_drop(struct vt_pair_table *t, uint64_t a, uint64_t b)
{
    if (!t->count) return;
    uint64_t mask = t->size - 1, hole = place(t, a, b);
    if (!t->entries[hole].value) return;
    t->count--;
    for (uint64_t at = (hole + 1) & mask; t->entries[at].value; at = (at + 1) & mask) {
        uint64_t wanted = home(t, t->entries[at].a, t->entries[at].b);
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
