/* SPDX-License-Identifier: BSD-3-Clause */
/* libFuzzer on csrc/otf2_reader and csrc/kernels. Input bytes become calls of callbacks, as libotf2 makes them for a damaged archive:
   any values in any order. The results are checked. test_readback_fuzz.py builds this file with ASan and UBSan, and
   writes calls.h, which calls each callback with arguments of its types. */
#include <dlfcn.h>
#include <string.h>
#include "insist.h"
#include "kernels/tiles.h"
#include "otf2_reader/definitions.h"
#include "otf2_reader/stack_replay.h"

enum { CAPACITY = 24, REGIONS = 5, BINS = 7, CLASSES = 3, MEMBERS = 255 };

static void *event_handlers[VT_READ_KINDS], *definition_handlers[VT_DEF_KINDS];
static unsigned nevents, ndefinitions;

/* ---- The input ---- */

static struct {
    const uint8_t *at, *end;
} in;

static uint8_t byte(void) { return in.at < in.end ? *in.at++ : 0; }

/* A number: mostly small, else at a limit of its type, or arbitrary. */
static uint64_t number(void)
{
    static const uint64_t limits[] = {UINT64_MAX, UINT32_MAX, 1ull << 63, (1ull << 63) - 1, 1ull << 31, 1ull << 60};
    uint8_t first = byte();
    if (first < 240) return first & 15;
    if (first < 250) return limits[first % (sizeof limits / sizeof *limits)];
    uint64_t any = 0;
    for (int i = 0; i < 8; i++) any = any << 8 | byte();
    return any;
}

static const char *string(void)
{
    static char text[64];
    uint8_t n = byte() % sizeof text;
    for (uint8_t i = 0; i < n; i++) text[i] = (char)byte();
    text[n] = 0;
    return n == 63 ? NULL : text;
}

static uint64_t list[MEMBERS + 1];
static uint8_t members(void)
{
    uint8_t n = byte() % 16 == 15 ? MEMBERS : byte() % 5;
    for (unsigned i = 0; i < n; i++) list[i] = i < 4 ? number() : i;
    return n;
}

/* ---- libotf2 ---- */

static struct {
    uint32_t n, id[4];
    uint64_t value[4];
} attributes;

static void *create(void) { return &in; }
static void destroy(void *callbacks) { (void)callbacks; }
static int32_t set_event(void *callbacks, void *handler)
{
    (void)callbacks;
    event_handlers[nevents++] = handler;
    return 0;
}
static int32_t set_definition(void *callbacks, void *handler)
{
    (void)callbacks;
    definition_handlers[ndefinitions++] = handler;
    return 0;
}
static uint32_t count_attributes(const OTF2_AttributeList *given) { return given ? attributes.n : 0; }
static int32_t attribute(const OTF2_AttributeList *given, uint32_t i, uint32_t *id, uint8_t *type, uint64_t *value)
{
    INSIST(given && i < attributes.n);
    *id = attributes.id[i], *type = (uint8_t)attributes.value[i], *value = attributes.value[i];
    return attributes.id[i] == 7;
}

void *vt_fuzz_dlopen(const char *path, int how)
{
    (void)path, (void)how;
    return &in;
}

void *vt_fuzz_dlsym(void *library, const char *name)
{
    (void)library;
    if (strstr(name, "GlobalDefReaderCallbacks_Set")) return (void *)set_definition;
    if (strstr(name, "EvtReaderCallbacks_Set")) return (void *)set_event;
    if (strstr(name, "Callbacks_New")) return (void *)create;
    if (strstr(name, "Callbacks_Delete")) return (void *)destroy;
    return strstr(name, "GetNumber") ? (void *)count_attributes : (void *)attribute;
}

#include "calls.h"

/* ---- Conditions on the results ---- */

static void check_batch(const struct vt_batch *b, int64_t before)
{
    INSIST(b->count <= b->capacity);
    for (uint64_t i = 0; i < b->count; i++) {
        INSIST(b->time[i] >= b->from && b->time[i] <= b->to && b->time[i] >= before && b->kind[i] < VT_READ_KINDS);
        before = b->time[i];
    }
    for (uint64_t i = 0, row = 0; i < b->ndetails; row = b->details[i++].row)
        INSIST(b->details[i].row < b->count && b->details[i].row >= row);
    for (uint64_t i = 0, row = 0; i < b->nattributes; row = b->attributes[i++].row)
        INSIST(b->attributes[i].row < b->count && b->attributes[i].row >= row);
}

static void check_replay(const struct vt_replay *r, const struct vt_batch *b)
{
    for (uint64_t i = 0; i < b->ndetails; i++) {
        const struct vt_detail *d = &b->details[i];
        INSIST((d->region == VT_NONE || d->region < REGIONS) && (d->caller == VT_NONE || d->caller < REGIONS));
        INSIST(d->node < r->npaths);
    }
    for (uint64_t i = 1; i < r->npaths; i++) INSIST(r->paths[i].parent < i);
    for (uint64_t i = 0; i < r->nslices; i++)
        INSIST(r->slices[i].begin <= r->slices[i].end && r->slices[i].region < REGIONS);
    INSIST(r->ntouched <= REGIONS && r->ntouched_paths <= r->npaths && r->npaths <= r->paths_max);
}

static void check_stats(const struct vt_stats *s)
{
    INSIST(s->calls && s->min >= 0 && s->min <= s->max && s->inclusive >= 0 && s->inclusive <= s->total);
}

/* Sums a column over the bins of a tile. */
static uint64_t sum(const uint8_t *tile, unsigned column)
{
    const unsigned n = tile[0] | (unsigned)tile[1] << 8, columns = tile[2];
    const uint8_t *at = tile + 3 + columns;
    uint64_t all = 0;
    for (unsigned c = 0; c < column; c++) at += n * tile[3 + c];
    for (unsigned i = 0; i < n; i++, at += tile[3 + column]) {
        uint64_t value = 0;
        memcpy(&value, at, tile[3 + column]);
        all += value;
    }
    return all;
}

/* All levels have the same events and the same time, and the tiles of a level have its bins. */
static void check_tiles(const struct vt_pyramid *p, uint64_t events)
{
    uint64_t bins[VT_TILE_LEVELS] = {0}, counts[VT_TILE_LEVELS] = {0}, times[VT_TILE_LEVELS] = {0}, levels = 0;
    for (uint64_t i = 0; i < p->ntiles; i++) {
        const struct vt_tile *t = &p->tiles[i];
        const uint8_t *tile = p->bytes + t->offset;
        const uint64_t level = (t->level - p->level) / VT_TILE_FAN;
        INSIST(t->offset + t->bytes <= p->nbytes && level < VT_TILE_LEVELS && tile[2] == VT_TILE_FIRST_CLASS + CLASSES);
        INSIST(t->number == bins[level] / VT_TILE_BINS && bins[level] % VT_TILE_BINS == 0);
        if (level >= levels) levels = level + 1;
        bins[level] += tile[0] | (unsigned)tile[1] << 8;
        counts[level] += sum(tile, VT_TILE_EVENTS);
        for (unsigned c = 0; c < CLASSES; c++) times[level] += sum(tile, VT_TILE_FIRST_CLASS + c);
        INSIST(sum(tile, VT_TILE_TIME) + sum(tile, VT_TILE_SECOND_TIME) + sum(tile, VT_TILE_REST) <= UINT64_MAX >> 2);
    }
    INSIST(levels && bins[0] == p->bins && bins[levels - 1] == 1 && counts[0] == events);
    for (uint64_t k = 1; k < levels; k++) {
        INSIST(counts[k] == counts[0] && times[k] == times[0]);
        INSIST(bins[k] == ((bins[k - 1] - 1) >> VT_TILE_FAN) + 1);
    }
}

/* Adds the call paths of calling contexts, and lets events name them. */
static void add_paths(struct vt_replay *r)
{
    static uint32_t node_of[CAPACITY];
    struct vt_path paths[3];
    uint32_t n = byte() % 4;
    int good = 1;
    for (uint32_t i = 0; i < n; i++) {
        paths[i] = (struct vt_path){(uint32_t)number(), byte() % REGIONS};
        good &= paths[i].parent <= i;
    }
    for (unsigned i = 0; i < CAPACITY; i++) node_of[i] = byte() & 1 ? VT_NONE : (uint32_t)number();
    INSIST((vt_replay_add_paths(r, paths, n) == VT_READ_OK) == good);
    r->node_of = node_of;
}

static const uint8_t class_of[REGIONS] = {0, 1, 2, 1, 0};

static struct vt_replay *make_replay(uint8_t how, double *line)
{
    static const uint8_t site_of[REGIONS] = {0, VT_SITE_CALL, 1, 2, 3};
    struct vt_replay *r = vt_replay_new(REGIONS, how & 1);
    INSIST(r);
    if (how & 2) r->paths_max = 4;
    if (how & 64) add_paths(r);
    r->want_stats = r->want_path_stats = ~how >> 7 & 1;
    r->want_slices = how >> 2 & 1;
    r->shortest = how & 1 ? 3 : 0;
    if (how & 8) r->site_of = site_of, r->site_attribute = 1;
    if (how & 48)
        r->from = (int64_t)(number() % 64), r->to = how & 16 ? r->from + 1 + (int64_t)(number() % 64) : 1ll << 60;
    if (how & 16) {
        r->bins = BINS, r->classes = CLASSES, r->class_of = class_of, r->line = line;
    }
    return r;
}

/* Reads the events of a location in batches. */
static void read_events(struct vt_replay *r, struct vt_batch *b, struct vt_pyramid *tiles)
{
    int64_t last = INT64_MIN;
    uint64_t events = 0;
    if (tiles) vt_tiles_begin(tiles, byte() * 64u, (int64_t)number());
    vt_replay_begin(r);
    b->last = INT64_MIN;
    b->ended = 0;
    uint64_t time = number();
    for (int more = 1; more;) {
        b->count = b->ndetails = b->nattributes = 0;
        for (int i = 0; i < CAPACITY + 2 && (more = in.at < in.end && !b->ended); i++) {
            uint8_t kind = byte();
            time += number();
            if (kind & 128) kind = kind & 1 ? VT_READ_Enter : VT_READ_Leave;
            attributes.n = byte() % 5;
            for (uint32_t k = 0; k < attributes.n; k++) attributes.id[k] = byte() & 7, attributes.value[k] = number();
            call_event(kind % VT_READ_KINDS, time, b, attributes.n ? (OTF2_AttributeList *)&attributes : NULL);
        }
        check_batch(b, last);
        last = b->last;
        INSIST(vt_replay_batch(r, b) == VT_READ_OK);
        check_replay(r, b);
        events += b->count;
        INSIST(!tiles || vt_tiles_batch(tiles, r, b) == VT_READ_OK);
    }
    INSIST(vt_replay_end(r, b->last < r->to ? b->last : r->to) == VT_READ_OK);
    INSIST(!tiles || vt_tiles_end(tiles, r) == VT_READ_OK);
    if (tiles) check_tiles(tiles, events);
    for (uint64_t i = 0; i < r->ntouched; i++) check_stats(&r->regions[r->touched[i]]);
    for (uint64_t i = 0; i < r->ntouched_paths; i++) INSIST(r->path_stats[r->touched_paths[i]].calls);
}

static void read_definitions(void)
{
    struct vt_definitions *d = vt_definitions_new();
    INSIST(d);
    for (int i = byte() % 64; i; i--) INSIST(!call_definition(byte() % VT_DEF_KINDS, d));
    uint64_t members_there = 0, text = 0;
    const char *kind;
    for (uint32_t i = 0; (kind = vt_definitions_kind(i)); i++) {
        const struct vt_table *t = vt_definitions_table(d, i);
        INSIST(t->count <= t->capacity);
        if (!strncmp(kind, "Members:", 8)) members_there = t->count;
        if (!strncmp(kind, "Text:", 5)) text = t->count * 8;
    }
    const struct vt_table *groups = vt_definitions_table(d, VT_DEF_Group),
                          *strings = vt_definitions_table(d, VT_DEF_String);
    for (uint64_t i = 0; i < groups->count; i++)
        INSIST(groups->rows[7 * i + 5] + groups->rows[7 * i + 6] <= members_there);
    for (uint64_t i = 0; i < strings->count; i++) INSIST(strings->rows[3 * i + 1] + strings->rows[3 * i + 2] <= text);
    INSIST(!vt_definitions_failed(d));
    vt_definitions_free(d);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char text[100];
    (void)argc, (void)argv;
    INSIST(!vt_readback_find("libotf2", text, sizeof text) && !vt_definitions_find("libotf2", text, sizeof text));
    INSIST(vt_readback_callbacks() && vt_definitions_callbacks());
    INSIST(nevents == VT_READ_KINDS && ndefinitions == VT_DEF_KINDS);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static double line[(CLASSES + 1) * BINS];
    in.at = data, in.end = data + size;
    static const uint8_t marks[REGIONS] = {0, 1, 2, 4, 7};
    uint8_t how = byte(), more = byte();
    read_definitions();
    struct vt_replay *r = make_replay(how, line);
    if (more & 1) r->flush_region = REGIONS - 2;
    if (more & 2) r->mark_of = marks;
    if (more & 4) r->want_spans = 1, r->class_of = class_of;
    struct vt_pyramid *tiles = more & 4 ? vt_tiles_new(REGIONS, CLASSES) : NULL;
    INSIST(tiles || !(more & 4));
    struct vt_batch *b = vt_readback_batch(CAPACITY);
    INSIST(b);
    b->from = r->from, b->to = how & 32 ? r->to : INT64_MAX;
    if (how & 8 || !(how & 64)) b->from = INT64_MIN;
    b->clock_offset = number();
    b->resolution = how & 64 ? 1000000000 : number();
    b->resolution += !b->resolution; /* Python replaces a resolution of 0 by 10^9 */
    b->want_attributes = how >> 7;
    memset(b->wanted, 1, sizeof b->wanted);
    read_events(r, b, tiles);
    read_events(r, b, tiles); /* a second location, from the rest of the input */
    vt_tiles_free(tiles);
    vt_readback_batch_free(b);
    vt_replay_free(r);
    return 0;
}
