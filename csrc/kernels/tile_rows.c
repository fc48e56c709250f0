/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins the tiles of locations to tiles of the page's rows. A bin of a row has two candidates for its top region from
   each bin of each location: the two largest regions of that bin. */
#include "tiles.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define FEW 8u /* with more candidates the largest one is taken, not the largest sum of a region */
#define MOST_COLUMNS (VT_TILE_FIRST_CLASS + VT_TILE_CLASSES)
#define WHOLE 255u

struct candidate {
    uint64_t ns;
    uint32_t region, place; /* place: among the candidates of the bin */
};

/* The row that gets tiles now. few: the candidates of each bin, if there are at most FEW. */
struct open_row {
    struct candidate few[VT_TILE_BINS][FEW], best[VT_TILE_BINS];
    uint64_t sums[MOST_COLUMNS][VT_TILE_BINS]; /* with the deepest stack in place of the sum */
    uint64_t waited[VT_TILE_CLASSES][VT_TILE_BINS]; /* ns of candidates that wait, by class */
    int is_small;
    uint64_t values[MOST_COLUMNS * VT_TILE_BINS]; /* of a tile, from here on kept from row to row */
};

/* Returns 0 for a region that does not exist. */
static int add_candidate(struct open_row *r, const struct vt_tile_rows *to, uint64_t bin, struct candidate c)
{
    if (c.region > to->nregions) return 0;
    if (!c.ns) return 1;
    if (r->is_small) r->few[bin][c.place] = c;
    struct candidate *best = &r->best[bin];
    if (c.ns > best->ns || (c.ns == best->ns && c.place < best->place)) *best = c;
    if (to->waits[c.region]) r->waited[to->waits[c.region] - 1][bin] += c.ns;
    return 1;
}

static void add_sums(struct open_row *r, uint64_t columns, const uint8_t *widths, uint64_t first, unsigned shift)
{
    for (uint64_t c = VT_TILE_EVENTS; c < columns; c++) {
        uint64_t *sums = r->sums[c];
        const uint64_t *values = r->values + c * VT_TILE_BINS;
        if (!widths[c]) continue; /* all values are 0 */
        if (c == VT_TILE_DEPTH)
            for (uint64_t b = 0; b < VT_TILE_BINS; b++) {
                uint64_t *deepest = &sums[(first + b) >> shift];
                if (values[b] > *deepest) *deepest = values[b];
            }
        else if (!shift)
            for (uint64_t b = 0; b < VT_TILE_BINS; b++) sums[b] += values[b];
        else
            for (uint64_t b = 0; b < VT_TILE_BINS; b++) sums[(first + b) >> shift] += values[b];
    }
}

/* Adds the tile of a location. Returns 0 for damage. */
static int add_part(struct open_row *r, const struct vt_tile_rows *to, const struct vt_tile_part *p)
{
    const uint64_t joins = UINT64_C(1) << p->shift, first = p->part * VT_TILE_BINS, *v = r->values;
    const uint8_t *text = (const uint8_t *)(uintptr_t)p->text;
    if (p->part >= joins || (r->is_small && p->place + 2 * joins > FEW)) return 0;
    if (!vt_tiles_unpack(text, p->bytes, to->columns, r->values)) return 0;
    add_sums(r, to->columns, text + 3, first, (unsigned)p->shift);
    for (uint64_t b = 0; b < VT_TILE_BINS; b++) {
        const uint64_t at = (first + b) >> p->shift, place = p->place + ((first + b) & (joins - 1));
        const struct candidate largest = {v[VT_TILE_TIME * VT_TILE_BINS + b],
                                          (uint32_t)v[VT_TILE_REGION * VT_TILE_BINS + b], (uint32_t)place};
        const struct candidate second = {v[VT_TILE_SECOND_TIME * VT_TILE_BINS + b],
                                         (uint32_t)v[VT_TILE_SECOND * VT_TILE_BINS + b], (uint32_t)(place + joins)};
        if (!add_candidate(r, to, at, largest) || !add_candidate(r, to, at, second)) return 0;
    }
    return 1;
}

/* Rounds up, so that a share above 0 is at least 1. */
static uint8_t share(uint64_t ns, double whole)
{
    if (!ns) return 0;
    const double exact = WHOLE * ((double)ns / whole);
    if (exact >= WHOLE) return WHOLE;
    const uint8_t down = (uint8_t)exact;
    return (uint8_t)(down + (down < exact));
}

/* The region with the most time of few candidates. */
static struct candidate top_of_few(const struct candidate *few)
{
    struct candidate top = {0, 0, 0};
    for (uint32_t i = 0; i < FEW; i++) {
        uint64_t ns = 0;
        for (uint32_t k = 0; k < FEW; k++)
            if (few[k].region == few[i].region) ns += few[k].ns;
        if (ns > top.ns) top = (struct candidate){ns, few[i].region, i};
    }
    return top;
}

static void close_row(const struct open_row *r, uint64_t row, const struct vt_tile_rows *to)
{
    const uint64_t classes = to->columns - VT_TILE_FIRST_CLASS;
    const double whole = to->whole[row];
    for (uint64_t b = 0; b < VT_TILE_BINS; b++) {
        const uint64_t at = row * VT_TILE_BINS + b;
        const uint64_t events = r->sums[VT_TILE_EVENTS][b], depth = r->sums[VT_TILE_DEPTH][b];
        const struct candidate top = r->is_small ? top_of_few(r->few[b]) : r->best[b];
        to->region[at] = top.region;
        to->share[at] = share(top.ns, whole);
        to->events[at] = events < UINT32_MAX ? (uint32_t)events : UINT32_MAX;
        to->depth[at] = depth < UINT8_MAX ? (uint8_t)depth : UINT8_MAX;
        for (uint64_t c = 0; c < classes; c++) {
            const uint64_t place = (row * classes + c) * VT_TILE_BINS + b;
            const uint8_t all = share(r->sums[VT_TILE_FIRST_CLASS + c][b], whole);
            const uint8_t waited = share(r->waited[c][b], whole);
            to->classes[place] = all;
            to->waited[place] = waited < all ? waited : all; /* less where a helper thread of MPI waits */
        }
    }
}

static void open_row(struct open_row *r, uint64_t row, const struct vt_tile_rows *to)
{
    memset(r, 0, offsetof(struct open_row, values));
    r->is_small = to->candidates[row] <= FEW;
}

VT_EXPORT int vt_tiles_rows(const struct vt_tile_part *parts, uint64_t n, const struct vt_tile_rows *to)
{
    if (to->columns > MOST_COLUMNS || to->columns < VT_TILE_FIRST_CLASS) return VT_TILES_DAMAGED;
    struct open_row *r = n ? malloc(sizeof *r) : NULL;
    if (n && !r) return VT_TILES_NO_MEMORY;
    int whole = 1;
    for (uint64_t i = 0; whole && i < n; i++) {
        if (!i || parts[i].row != parts[i - 1].row) open_row(r, parts[i].row, to);
        whole = add_part(r, to, &parts[i]);
        if (whole && (i + 1 == n || parts[i + 1].row != parts[i].row)) close_row(r, parts[i].row, to);
    }
    free(r);
    return whole ? VT_TILES_OK : VT_TILES_DAMAGED;
}
