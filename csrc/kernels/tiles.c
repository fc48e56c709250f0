/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the pyramid of a location in one pass: only the open tile of each level is in memory. */
#include "tiles.h"
#include "../otf2_writer/containers.h"
#include <stdlib.h>
#include <string.h>

#define PER_BIN 64u /* events in a finest bin, about */
#define FEWEST 2048u /* bins of a finest level: at least a quarter of this number */
#define MOST_COLUMNS (VT_TILE_FIRST_CLASS + VT_TILE_CLASSES)

struct share {
    uint64_t ns;
    uint32_t region;
};

/* An open bin. slots: the largest shares of each bin that this bin joins; a region may occur several times. The finest
   level uses `touched` instead. */
struct bin {
    struct share slots[VT_TILE_SLOTS << VT_TILE_FAN];
    uint32_t nslots, depth;
    uint64_t rest, events, classes[VT_TILE_CLASSES];
};

struct open_level {
    struct bin bin;
    uint64_t filled, bins; /* bins so far; all bins */
    uint64_t values[VT_TILE_BINS][MOST_COLUMNS]; /* of the open tile */
};

struct open_pyramid {
    struct vt_pyramid out; /* first: the part that Python sees */
    struct open_level *levels;
    uint32_t nlevels, ntouched;
    uint64_t *times; /* ns of each region in the finest open bin, or in the coarser bin that is being closed */
    uint32_t *touched; /* the regions with such times */
    struct share best[VT_TILE_SLOTS]; /* the touched regions with the most time, when the bin is closed */
    uint64_t room, tiles_room, overview_room, shares_room;
    uint64_t overview_level;
    int64_t now, border; /* the end of the last span; the end of the finest open bin */
    int64_t end;
    const int64_t *events; /* times of the batch's events */
    uint64_t nevents, counted;
    int failed;
};

/* ---- Tiles ---- */

static int make_room(struct open_pyramid *p, uint64_t bytes)
{
    struct vt_pyramid *o = &p->out;
    return VT_ROOM(o->bytes, o->nbytes + bytes, &p->room) && VT_ROOM(o->tiles, o->ntiles + 1, &p->tiles_room);
}

/* Returns the width in bytes of a column whose values have these bits. */
static uint8_t width_of(uint64_t bits)
{
    return bits > UINT32_MAX ? 8 : bits > UINT16_MAX ? 4 : bits > UINT8_MAX ? 2 : bits ? 1 : 0;
}

/* Copies the lowest `width` bytes of each value of a column. Returns the end of the bytes. */
static uint8_t *put_column(uint8_t *at, const uint64_t *column, uint32_t n, uint8_t width)
{
#define PUT(bytes)                                                                                                     \
    case bytes:                                                                                                        \
        for (uint32_t i = 0; i < n; i++, at += bytes) memcpy(at, column + (uint64_t)i * MOST_COLUMNS, bytes);          \
        break
    switch (width) { /* copies of a known size need no call */
        PUT(1);
        PUT(2);
        PUT(4);
        PUT(8);
    }
#undef PUT
    return at;
}

/* Appends the open tile of a level to the bytes. */
static void store(struct open_pyramid *p, uint32_t number)
{
    struct open_level *l = &p->levels[number];
    struct vt_pyramid *o = &p->out;
    const uint32_t n = (uint32_t)((l->filled - 1) % VT_TILE_BINS) + 1,
                   columns = VT_TILE_FIRST_CLASS + (uint32_t)o->nclasses;
    if (p->failed || !make_room(p, 3 + columns + (uint64_t)columns * n * 8)) {
        p->failed = 1;
        return;
    }
    uint8_t *head = o->bytes + o->nbytes, *at = head + 3 + columns;
    head[0] = (uint8_t)n, head[1] = (uint8_t)(n >> 8), head[2] = (uint8_t)columns;
    uint64_t bits[MOST_COLUMNS] = {0};
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t c = 0; c < MOST_COLUMNS; c++) bits[c] |= l->values[i][c]; /* a known number, for vectors */
    for (uint32_t c = 0; c < columns; c++) {
        head[3 + c] = width_of(bits[c]);
        at = put_column(at, &l->values[0][c], n, head[3 + c]);
    }
    const uint64_t bytes = (uint64_t)(at - head);
    o->tiles[o->ntiles++] = (struct vt_tile){o->nbytes, bytes, (uint32_t)o->level + number * VT_TILE_FAN,
                                             (uint32_t)((l->filled - 1) / VT_TILE_BINS)};
    o->nbytes += bytes;
}

/* Reads a column of values of `width` bytes. Returns the end of the bytes. */
static const uint8_t *take_column(const uint8_t *at, uint64_t *column, uint64_t n, uint8_t width)
{
#define TAKE(bytes)                                                                                                    \
    case bytes:                                                                                                        \
        for (uint64_t i = 0; i < n; i++, at += bytes) memcpy(&column[i], at, bytes);                                   \
        break
    switch (width) {
        TAKE(1);
        TAKE(2);
        TAKE(4);
        TAKE(8);
    }
#undef TAKE
    return at;
}

VT_EXPORT uint64_t vt_tiles_unpack(const uint8_t *tile, uint64_t bytes, uint64_t columns, uint64_t *values)
{
    if (bytes < 3 + columns) return 0;
    const uint64_t n = tile[0] | (uint64_t)tile[1] << 8;
    const uint8_t *widths = tile + 3, *at = widths + columns;
    uint64_t size = 3 + columns;
    if (!n || n > VT_TILE_BINS || tile[2] != columns) return 0;
    for (uint64_t c = 0; c < columns; c++) {
        if (widths[c] > 8 || (widths[c] & (widths[c] - 1))) return 0;
        size += n * widths[c];
    }
    if (size != bytes) return 0;
    memset(values, 0, columns * VT_TILE_BINS * sizeof *values);
    for (uint64_t c = 0; c < columns; c++, values += VT_TILE_BINS) at = take_column(at, values, n, widths[c]);
    return n;
}

/* ---- Bins ---- */

/* Adds a time above 0 to a region of the bin that is closed next. */
static inline void add_time(struct open_pyramid *p, uint32_t region, uint64_t ns)
{
    p->touched[p->ntouched] = region;
    p->ntouched += !p->times[region]; /* no branch, since its outcome is hard to predict */
    p->times[region] += ns;
}

/* More time first; for equal times the lower region, so that the order of events does not matter. */
static int is_above(struct share a, struct share b) { return a.ns != b.ns ? a.ns > b.ns : a.region < b.region; }

/* Inserts a slot into a list of the largest; adds the time of the slot that drops out to `rest`. */
static void rank(struct share *best, uint32_t *n, uint64_t *rest, struct share s)
{
    if (*n == VT_TILE_SLOTS && !is_above(s, best[*n - 1])) {
        *rest += s.ns;
        return;
    }
    if (*n == VT_TILE_SLOTS) *rest += best[--*n].ns;
    uint32_t at = (*n)++;
    for (; at && is_above(s, best[at - 1]); at--) best[at] = best[at - 1];
    best[at] = s;
}

static void join(struct bin *above, const struct bin *b, const struct share *best, uint32_t n, uint32_t nclasses)
{
    for (uint32_t i = 0; i < n; i++) above->slots[above->nslots++] = best[i];
    for (uint32_t c = 0; c < nclasses; c++) above->classes[c] += b->classes[c];
    above->rest += b->rest;
    above->events += b->events;
    if (b->depth > above->depth) above->depth = b->depth;
}

/* Keeps a bin for groups. */
static void keep_overview(struct open_pyramid *p, const struct bin *b, const struct share *best, uint32_t n)
{
    struct vt_pyramid *o = &p->out;
    if (!VT_ROOM(o->overview, o->noverview + 1, &p->overview_room) ||
        !VT_ROOM(o->shares, o->nshares + n, &p->shares_room)) {
        p->failed = 1;
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        o->shares[o->nshares++] = (struct vt_bin_share){(uint32_t)o->noverview, best[i].region, best[i].ns};
    struct vt_bin_sums *sums = &o->overview[o->noverview++];
    sums->rest = b->rest, sums->events = b->events, sums->depth = b->depth;
    memcpy(sums->classes, b->classes, o->nclasses * sizeof *b->classes);
}

/* Closes the open bin of a level. */
static void close_bin(struct open_pyramid *p, uint32_t number)
{
    struct open_level *l = &p->levels[number];
    struct bin *b = &l->bin;
    struct share *best = p->best;
    uint32_t n = 0;
    const uint32_t nclasses = (uint32_t)p->out.nclasses;
    for (uint32_t i = 0; i < b->nslots; i++) add_time(p, b->slots[i].region, b->slots[i].ns);
    for (uint32_t i = 0; i < p->ntouched; i++) {
        const uint32_t region = p->touched[i];
        rank(best, &n, &b->rest, (struct share){p->times[region], region});
        p->times[region] = 0;
    }
    p->ntouched = 0;
    uint64_t *values = l->values[l->filled % VT_TILE_BINS];
    memset(values, 0, VT_TILE_REST * sizeof *values);
    if (n) values[VT_TILE_REGION] = 1 + (uint64_t)best[0].region, values[VT_TILE_TIME] = best[0].ns;
    if (n > 1) values[VT_TILE_SECOND] = 1 + (uint64_t)best[1].region, values[VT_TILE_SECOND_TIME] = best[1].ns;
    values[VT_TILE_REST] = b->rest, values[VT_TILE_EVENTS] = b->events, values[VT_TILE_DEPTH] = b->depth;
    memcpy(values + VT_TILE_FIRST_CLASS, b->classes, nclasses * sizeof *values);
    l->filled++;
    if (p->out.want_overview && p->out.level + (uint64_t)number * VT_TILE_FAN == p->overview_level)
        keep_overview(p, b, best, n);
    if (number + 1 < p->nlevels) join(&p->levels[number + 1].bin, b, best, n, nclasses);
    b->nslots = b->depth = 0;
    b->rest = b->events = 0;
    memset(b->classes, 0, nclasses * sizeof *b->classes);
    if (l->filled % VT_TILE_BINS == 0 || l->filled == l->bins) store(p, number);
    const int whole = (l->filled & ((1u << VT_TILE_FAN) - 1)) == 0 || l->filled == l->bins;
    if (number + 1 < p->nlevels && whole) close_bin(p, number + 1);
}

/* ---- Spans and events ---- */

static inline void spend(struct open_pyramid *p, const struct vt_span *s, int64_t until)
{
    const uint64_t ns = (uint64_t)(until - p->now);
    struct bin *b = &p->levels->bin;
    p->now = until;
    if (s->region == VT_NONE || !ns) return;
    if (s->depth > b->depth) b->depth = s->depth;
    add_time(p, s->region, ns);
    b->classes[s->class] += ns;
}

/* Closes the finest open bin, with the events of the batch in this bin. */
static void next_bin(struct open_pyramid *p)
{
    const uint64_t first = p->counted;
    while (p->counted < p->nevents && p->events[p->counted] < p->border) p->counted++;
    p->levels->bin.events += p->counted - first;
    close_bin(p, 0);
    p->border += INT64_C(1) << p->out.level;
}

/* Adds a span that starts at the end of the last span. */
static void add_span(struct open_pyramid *p, const struct vt_span *s)
{
    const int64_t end = s->end < p->end ? s->end : p->end;
    while (__builtin_expect(end >= p->border, 0)) { /* never in the last bin, which ends after p->end */
        spend(p, s, p->border);
        next_bin(p);
    }
    if (end > p->now) spend(p, s, end);
}

/* Adds the spans from i on that end in the open bin. Returns the number of the next span. */
static uint64_t add_inner_spans(struct open_pyramid *p, const struct vt_replay *replay, uint64_t i)
{
    struct bin *b = &p->levels->bin;
    const struct vt_span *spans = replay->spans;
    const uint64_t n = replay->nspans;
    const int64_t border = p->border <= p->end ? p->border : p->end + 1;
    int64_t now = p->now;
    uint64_t *classes = b->classes, class = 0, class_ns = 0; /* class_ns: a time that is not in the sums yet */
    uint32_t depth = b->depth, ntouched = p->ntouched, *touched = p->touched;
    for (; i < n && spans[i].end < border; i++) {
        const struct vt_span s = spans[i];
        if (s.end <= now) continue;
        const uint64_t ns = (uint64_t)(s.end - now);
        now = s.end;
        if (s.region == VT_NONE) continue;
        if (s.depth > depth) depth = s.depth;
        touched[ntouched] = s.region;
        ntouched += !p->times[s.region];
        p->times[s.region] += ns;
        if (s.class != class) {
            classes[class] += class_ns;
            class = s.class;
            class_ns = 0;
        }
        class_ns += ns;
    }
    classes[class] += class_ns;
    p->ntouched = ntouched;
    p->now = now;
    b->depth = depth;
    return i;
}

/* Adds all spans of a replay. */
static void add_spans(struct open_pyramid *p, const struct vt_replay *replay)
{
    for (uint64_t i = 0; (i = add_inner_spans(p, replay, i)) < replay->nspans; i++) add_span(p, &replay->spans[i]);
}

VT_EXPORT int vt_tiles_batch(struct vt_pyramid *out, const struct vt_replay *replay, const struct vt_batch *batch)
{
    struct open_pyramid *p = (struct open_pyramid *)out;
    p->events = batch->time;
    p->nevents = batch->count;
    p->counted = 0;
    add_spans(p, replay);
    p->levels->bin.events += p->nevents - p->counted; /* the spans end with the last event */
    p->counted = p->nevents = 0;
    return p->failed ? VT_READ_NO_MEMORY : VT_READ_OK;
}

VT_EXPORT int vt_tiles_end(struct vt_pyramid *out, const struct vt_replay *replay)
{
    struct open_pyramid *p = (struct open_pyramid *)out;
    add_spans(p, replay);
    while (p->levels->filled < out->bins) {
        p->now = p->border;
        next_bin(p);
    }
    return p->failed ? VT_READ_NO_MEMORY : VT_READ_OK;
}

VT_EXPORT void vt_tiles_drop(struct vt_pyramid *out, uint64_t n)
{
    if (!n) return;
    const uint64_t bytes = out->tiles[n - 1].offset + out->tiles[n - 1].bytes;
    out->ntiles -= n;
    out->nbytes -= bytes;
    memmove(out->tiles, out->tiles + n, out->ntiles * sizeof *out->tiles);
    memmove(out->bytes, out->bytes + bytes, out->nbytes);
    for (uint64_t i = 0; i < out->ntiles; i++) out->tiles[i].offset -= bytes;
}

uint64_t vt_tiles_level(uint64_t events, int64_t *end)
{
    const uint64_t wanted = events / PER_BIN > FEWEST ? events / PER_BIN : FEWEST;
    uint64_t level = 0;
    *end = *end < 0 ? 0 : *end > VT_READ_LATEST ? VT_READ_LATEST : *end;
    while (((uint64_t)*end >> level) + 1 > wanted) level += VT_TILE_FAN;
    return level;
}

void vt_tiles_add_bin(struct vt_pyramid *out, const struct vt_bin_sums *sums, const struct vt_bin_share *shares,
                      uint64_t n)
{
    struct open_pyramid *p = (struct open_pyramid *)out;
    struct bin *b = &p->levels->bin;
    for (uint64_t i = 0; i < n; i++) add_time(p, shares[i].region, shares[i].ns);
    b->rest = sums->rest;
    b->events = sums->events;
    b->depth = (uint32_t)sums->depth;
    memcpy(b->classes, sums->classes, sizeof b->classes);
    close_bin(p, 0);
}

int vt_tiles_failed(const struct vt_pyramid *out) { return ((const struct open_pyramid *)out)->failed; }

VT_EXPORT void vt_tiles_begin(struct vt_pyramid *out, uint64_t events, int64_t end)
{
    struct open_pyramid *p = (struct open_pyramid *)out;
    p->end = end;
    p->overview_level = vt_tiles_level(0, &p->end);
    out->level = vt_tiles_level(events, &p->end);
    out->noverview = out->nshares = 0;
    out->bins = ((uint64_t)p->end >> out->level) + 1;
    p->nlevels = 0;
    for (uint64_t bins = out->bins; p->nlevels < VT_TILE_LEVELS; bins = ((bins - 1) >> VT_TILE_FAN) + 1) {
        struct open_level *l = &p->levels[p->nlevels++];
        memset(&l->bin, 0, sizeof l->bin);
        l->filled = 0;
        l->bins = bins;
        if (bins == 1) break;
    }
    for (uint32_t i = 0; i < p->ntouched; i++) p->times[p->touched[i]] = 0;
    p->ntouched = 0;
    p->now = 0;
    p->border = INT64_C(1) << out->level;
    p->failed = 0;
    out->nbytes = out->ntiles = 0;
}

VT_EXPORT int vt_tiles_whole(struct vt_pyramid *out, struct vt_replay *replay, struct vt_batch *batch, uint64_t events,
                             int64_t end)
{
    vt_replay_begin(replay);
    vt_tiles_begin(out, events, end);
    if (batch->count && (vt_replay_batch(replay, batch) || vt_tiles_batch(out, replay, batch)))
        return VT_READ_NO_MEMORY;
    return vt_replay_end(replay, batch->last) || vt_tiles_end(out, replay) ? VT_READ_NO_MEMORY : VT_READ_OK;
}

VT_EXPORT struct vt_pyramid *vt_tiles_new(uint64_t nregions, uint64_t nclasses)
{
    struct open_pyramid *p = nclasses <= VT_TILE_CLASSES ? calloc(1, sizeof *p) : NULL;
    if (!p) return NULL;
    p->out.nregions = nregions;
    p->out.nclasses = nclasses;
    p->levels = calloc(VT_TILE_LEVELS, sizeof *p->levels);
    p->times = calloc(nregions + 1, sizeof *p->times);
    p->touched = calloc(nregions + 1, sizeof *p->touched);
    if (p->levels && p->times && p->touched) return &p->out;
    vt_tiles_free(&p->out);
    return NULL;
}

VT_EXPORT void vt_tiles_free(struct vt_pyramid *out)
{
    struct open_pyramid *p = (struct open_pyramid *)out;
    if (!p) return;
    void *all[] = {out->bytes, out->tiles, out->overview, out->shares, p->levels, p->times, p->touched};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    free(p);
}
