/* SPDX-License-Identifier: BSD-3-Clause */
/* A group has a table of sums by bin, the regions' times by bin in the order of their first location, and a hash table of
   the places of these times. */
#include "tiles.h"
#include "../otf2_writer/containers.h"
#include <stdlib.h>
#include <string.h>

#define SMALLEST 4096u /* places in a hash table */
#define AHEAD 16u /* how many shares ahead the hash table is prefetched */

struct vt_group {
    int64_t end;
    uint64_t bins, nclasses;
    struct vt_bin_sums *sums;
    struct vt_bin_share *shares;
    uint64_t used, room, mask;
    uint32_t *places; /* 1 + the place in shares, 0: free */
};

static uint64_t home(uint64_t mask, const struct vt_bin_share *s)
{
    const uint64_t key = ((uint64_t)s->bin << 32 | s->region) * 0x9e3779b97f4a7c15u;
    return (key ^ key >> 29) & mask;
}

/* Returns where the hash table has the place of a share with this bin and region, or may get it. */
static uint32_t *place_of(const struct vt_group *g, const struct vt_bin_share *s)
{
    uint64_t at = home(g->mask, s);
    for (; g->places[at]; at = (at + 1) & g->mask) {
        const struct vt_bin_share *found = &g->shares[g->places[at] - 1];
        if (found->bin == s->bin && found->region == s->region) break;
    }
    return &g->places[at];
}

/* Makes room for n shares. Returns 0 without memory. */
static int grow(struct vt_group *g, uint64_t n)
{
    uint64_t size = g->mask ? g->mask + 1 : SMALLEST;
    while (size < 2 * n) size *= 2;
    uint32_t *bigger = n < UINT32_MAX ? calloc(size, sizeof *bigger) : NULL;
    if (!bigger) return 0;
    free(g->places);
    g->places = bigger;
    g->mask = size - 1;
    for (uint64_t i = 0; i < g->used; i++) *place_of(g, &g->shares[i]) = (uint32_t)(i + 1);
    return 1;
}

static int add_shares(struct vt_group *g, const struct vt_bin_share *shares, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        if (i + AHEAD < n) __builtin_prefetch(&g->places[home(g->mask, &shares[i + AHEAD])], 1);
        if (!shares[i].ns) continue;
        if (2 * g->used >= g->mask && !grow(g, g->used + 1)) return VT_READ_NO_MEMORY;
        uint32_t *place = place_of(g, &shares[i]);
        if (*place) {
            g->shares[*place - 1].ns += shares[i].ns;
            continue;
        }
        if (!VT_ROOM(g->shares, g->used + 1, &g->room)) return VT_READ_NO_MEMORY;
        g->shares[g->used++] = shares[i];
        *place = (uint32_t)g->used;
    }
    return VT_READ_OK;
}

static void add_sums(struct vt_group *g, const struct vt_bin_sums *sums)
{
    for (uint64_t i = 0; i < g->bins; i++) {
        struct vt_bin_sums *to = &g->sums[i];
        if (!sums[i].events && !sums[i].depth) continue;
        to->rest += sums[i].rest;
        to->events += sums[i].events;
        if (sums[i].depth > to->depth) to->depth = sums[i].depth;
        for (uint64_t c = 0; c < g->nclasses; c++) to->classes[c] += sums[i].classes[c];
    }
}

VT_EXPORT int vt_group_add(struct vt_group *g, const struct vt_pyramid *p)
{
    if (p->noverview != g->bins) return VT_READ_OK; /* never: all locations have the same end */
    add_sums(g, p->overview);
    if (!g->places && !grow(g, p->nshares)) return VT_READ_NO_MEMORY; /* most members have the same regions */
    return add_shares(g, p->shares, p->nshares);
}

VT_EXPORT int vt_group_join(struct vt_group *g, const struct vt_group *other)
{
    add_sums(g, other->sums);
    if (!g->places && !grow(g, other->used)) return VT_READ_NO_MEMORY;
    return add_shares(g, other->shares, other->used);
}

/* Copies the shares by ascending bin; their order within a bin does not matter. first: bins + 1 zeros; gets the place
   of each bin's first share, and last the number of shares. */
static void by_bin(const struct vt_group *g, struct vt_bin_share *sorted, uint64_t *first)
{
    for (uint64_t i = 0; i < g->used; i++) first[g->shares[i].bin]++;
    uint64_t end = 0;
    for (uint64_t bin = 0; bin < g->bins; bin++) first[bin] = end += first[bin];
    first[g->bins] = end;
    for (uint64_t i = 0; i < g->used; i++) sorted[--first[g->shares[i].bin]] = g->shares[i];
}

VT_EXPORT int vt_group_tiles(const struct vt_group *g, struct vt_pyramid *p)
{
    struct vt_bin_share *sorted = malloc((g->used + 1) * sizeof *sorted);
    uint64_t *first = calloc(g->bins + 1, sizeof *first);
    int code = VT_READ_NO_MEMORY;
    if (sorted && first) {
        by_bin(g, sorted, first);
        p->want_overview = 0;
        vt_tiles_begin(p, 0, g->end);
        for (uint64_t bin = 0; bin < g->bins; bin++)
            vt_tiles_add_bin(p, &g->sums[bin], sorted + first[bin], first[bin + 1] - first[bin]);
        if (!vt_tiles_failed(p)) code = VT_READ_OK;
    }
    free(sorted);
    free(first);
    return code;
}

VT_EXPORT struct vt_group *vt_group_new(const struct vt_pyramid *p, int64_t end)
{
    struct vt_group *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    const uint64_t level = vt_tiles_level(0, &end);
    g->end = end;
    g->nclasses = p->nclasses;
    g->bins = ((uint64_t)end >> level) + 1;
    g->sums = calloc(g->bins, sizeof *g->sums);
    if (g->sums) return g;
    free(g);
    return NULL;
}

VT_EXPORT void vt_group_free(struct vt_group *g)
{
    if (!g) return;
    free(g->sums);
    free(g->shares);
    free(g->places);
    free(g);
}
