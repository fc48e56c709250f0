/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree of calling contexts of one location. */
#include "contexts.h"
#include <stdlib.h>

static inline uint64_t slot_of(uint32_t parent, uint32_t step, uint64_t mask)
{
    uint64_t key = ((uint64_t)parent << 32 | step) * 0x9e3779b97f4a7c15u;
    return (key ^ key >> 29) & mask;
}

static int grow_children(struct vt_tree *t)
{
    uint64_t size = t->mask ? (t->mask + 1) * 2 : 256;
    uint32_t *larger = calloc(size, sizeof *larger);
    if (!larger) return 0;
    for (uint32_t i = 1; i < t->count; i++) {
        uint64_t at = slot_of(t->parents[i], t->steps[i], size - 1);
        while (larger[at]) at = (at + 1) & (size - 1);
        larger[at] = i;
    }
    free(t->children);
    t->children = larger;
    t->mask = size - 1;
    return 1;
}

static int grow(struct vt_tree *t)
{
    uint32_t capacity = t->capacity ? t->capacity * 2 : 64;
    uint32_t **arrays[] = {&t->parents, &t->steps, &t->depths, &t->latest};
    for (unsigned i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        uint32_t *larger = realloc(*arrays[i], capacity * sizeof *larger);
        if (!larger) return 0;
        *arrays[i] = larger;
    }
    t->capacity = capacity;
    return 1;
}

int vt_tree_begin(struct vt_tree *t)
{
    *t = (struct vt_tree){0};
    if (!grow(t) || !grow_children(t)) return 0;
    t->parents[0] = t->steps[0] = t->depths[0] = t->latest[0] = 0;
    t->count = 1;
    return 1;
}

void vt_tree_free(struct vt_tree *t)
{
    free(t->parents);
    free(t->steps);
    free(t->depths);
    free(t->latest);
    free(t->children);
    *t = (struct vt_tree){0};
}

static uint32_t add(struct vt_tree *t, uint32_t parent, uint32_t step)
{
    if (t->count == VT_UNMAPPED || (t->count == t->capacity && !grow(t))) return VT_UNMAPPED;
    if (t->count * UINT64_C(2) > t->mask && !grow_children(t)) return VT_UNMAPPED;
    uint64_t at = slot_of(parent, step, t->mask);
    while (t->children[at]) at = (at + 1) & t->mask;
    uint32_t n = t->count++;
    t->children[at] = t->latest[parent] = n;
    t->parents[n] = parent;
    t->steps[n] = step;
    t->depths[n] = t->depths[parent] + 1;
    t->latest[n] = 0;
    return n;
}

uint32_t vt_tree_child(struct vt_tree *t, uint32_t parent, uint32_t step)
{
    uint32_t last = t->latest[parent];
    if (last && t->steps[last] == step) return last;
    for (uint64_t at = slot_of(parent, step, t->mask); t->children[at]; at = (at + 1) & t->mask) {
        uint32_t n = t->children[at];
        if (t->parents[n] == parent && t->steps[n] == step) return t->latest[parent] = n;
    }
    return add(t, parent, step);
}

VT_EXPORT int32_t vt_kernel_write_contexts(void *writer, uint64_t count, const uint32_t *regions, const uint32_t *lines,
                                           const uint32_t *parents)
{
    int32_t code = 0;
    for (uint64_t i = 0; !code && i < count; i++)
        code = vt_otf2.GlobalDefWriter_WriteCallingContext(writer, (uint32_t)i, regions[i], lines[i], parents[i]);
    return code;
}
