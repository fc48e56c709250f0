/* SPDX-License-Identifier: BSD-3-Clause */
/* Global definitions of an archive as records in memory, and the same records written with new numbers. A record
   consists of its number of words, kind, values and list. The list of a String is its text. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../otf2_writer/containers.h"
#include "rewriter.h"

#define NONE VT_NONE
#define INTERRUPT VT_OTF2_CALLBACK_ERROR
#define HEAD 2 /* words before the values */

enum { TYPE_STRING = 11, TYPE_LOCATION_GROUP = 25 };
enum { LOCATIONS = 1, REGIONS, METRICS, COMM_LOCATIONS, COMM_GROUP };

enum use { OWN, PART, REF, WEAK, TYPE, VALUE, SCOPED, RANK, RAW };

/* The numbers of one kind. */
struct numbers {
    uint32_t *now; /* new number by id; NONE: does not stay */
    uint8_t *marks; /* 1: stays */
    uint32_t count, room;
};

/* New ranks by old rank: of a group, and so of a communicator. */
struct ranks {
    uint32_t *now;
    uint64_t count;
    int changed;
};

struct vt_copy {
    uint64_t *words;
    uint64_t count, room;
    struct numbers kinds[VT_COPIED_KINDS_COUNT];
    const uint64_t *ids, *ids_now, *ids_events; /* locations that stay */
    uint64_t locations;
    struct ranks *groups; /* new ranks of each group */
    struct ranks paradigms[256]; /* new ranks in each paradigm's COMM_LOCATIONS */
    uint32_t *group_of, *comm_of; /* group of each communicator, communicator of each window and topology */
    uint32_t *topology_comm;
    uint32_t dropped[16], ndropped;
    const char *const *texts; /* of strings by id, in the copy; NULL: the same */
    const uint8_t *drops; /* by id of a string: 1: no property has this name in the copy */
    uint64_t ntexts;
    int failed, closed, marked;
};

struct value {
    uint8_t use, kind;
};

#define ROW(use, type, kind, name) {use, VT_COPIED_##kind},
#define ROWS(name) [VT_RECORD_##name] = {VT_D_##name(ROW){RAW, VT_COPIED_None}},
static const struct value values[VT_RECORDS][12] = {VT_COPIED_DEFINITIONS(ROWS) VT_COPIED_LISTS(ROWS)};
#define ONE(...) +1
#define COUNTED(name) [VT_RECORD_##name] = 0 VT_D_##name(ONE),
static const uint8_t sizes[VT_RECORDS] = {VT_COPIED_DEFINITIONS(COUNTED) VT_COPIED_LISTS(COUNTED)};

#define TEXT(use, type, kind, name) " " #use " " #type " " #kind
#define TEXTS(name) [VT_RECORD_##name] = #name ":" VT_D_##name(TEXT),
static const char *const records[VT_RECORDS] = {VT_COPIED_DEFINITIONS(TEXTS) VT_COPIED_LISTS(TEXTS)};
#define NAME(name) #name,
static const char *const kinds[] = {VT_COPIED_KINDS(NAME)};

VT_EXPORT const char *vt_copy_kind(uint32_t number) { return number < VT_COPIED_KINDS_COUNT ? kinds[number] : NULL; }
VT_EXPORT const char *vt_copy_record(uint32_t number) { return number < VT_RECORDS ? records[number] : NULL; }

static struct {
    void *(*create)(void);
    void (*destroy)(void *);
    int32_t (*set_Unknown)(void *, void *);
#define SETTER(name) int32_t (*set_##name)(void *, void *);
    VT_COPIED_DEFINITIONS(SETTER)
    VT_COPIED_LISTS(SETTER)
#define WRITER(name) int32_t (*write_##name)(void *VT_D_##name(VT_PARAMETER));
    VT_COPIED_DEFINITIONS(WRITER) int32_t (*clock)(void *, uint64_t, uint64_t, uint64_t, uint64_t);
    int32_t (*write_String)(void *, uint32_t, const char *);
    int32_t (*write_Group)(void *, uint32_t, uint32_t, uint8_t, uint8_t, uint32_t, uint32_t, const uint64_t *);
    int32_t (*write_MetricClass)(void *, uint32_t, uint8_t, const uint32_t *, uint8_t, uint8_t);
    int32_t (*write_CartTopology)(void *, uint32_t, uint32_t, uint32_t, uint8_t, const uint32_t *);
    int32_t (*write_CartCoordinate)(void *, uint32_t, uint32_t, uint8_t, const uint32_t *);
    int32_t (*write_IoParadigm)(void *, uint8_t, uint32_t, uint32_t, uint8_t, uint32_t, uint8_t, const uint8_t *,
                                const uint8_t *, const uint64_t *);
} otf2;

/* ---- Records ---- */

/* Makes room for the numbers of a kind up to id. */
static int number_room(struct vt_copy *c, uint32_t kind, uint64_t id)
{
    struct numbers *n = &c->kinds[kind];
    if (kind == VT_COPIED_Location || id < n->count) return 1;
    if (id >= VT_COPY_LARGEST_ID) {
        c->failed = VT_COPY_LARGE_ID;
        return 0;
    }
    uint64_t marks = n->room, now = n->room;
    if (!VT_ROOM(n->marks, id + 1, &marks) || !VT_ROOM(n->now, id + 1, &now)) {
        c->failed = VT_COPY_NO_MEMORY;
        return 0;
    }
    n->room = (uint32_t)(marks < now ? marks : now);
    memset(n->marks + n->count, 0, id + 1 - n->count);
    n->count = (uint32_t)id + 1;
    return 1;
}

/* Adds a record; list: `bytes` bytes that follow the values. */
static uint32_t keep(struct vt_copy *c, unsigned record, const uint64_t *words, const void *list, uint64_t bytes)
{
    const struct value *v = values[record];
    unsigned n = sizes[record];
    if (c->failed || (v[0].use == OWN && !number_room(c, v[0].kind, words[0]))) return INTERRUPT;
    uint64_t all = HEAD + n + 1 + (bytes + 7) / 8;
    if (!VT_ROOM(c->words, c->count + all, &c->room)) {
        c->failed = VT_COPY_NO_MEMORY;
        return INTERRUPT;
    }
    uint64_t *w = c->words + c->count;
    w[0] = all;
    w[1] = record;
    memcpy(w + HEAD, words, n * sizeof *words);
    w[HEAD + n] = bytes;
    if (bytes) memcpy(w + HEAD + n + 1, list, bytes);
    c->count += all;
    return VT_OTF2_CALLBACK_SUCCESS;
}

#define ON(name)                                                                                                       \
    static uint32_t on_##name(void *user VT_D_##name(VT_DECLARED))                                                     \
    {                                                                                                                  \
        const uint64_t words[] = {VT_D_##name(VT_WORD)};                                                               \
        return keep(user, VT_RECORD_##name, words, NULL, 0);                                                           \
    }
VT_COPIED_DEFINITIONS(ON)

static uint32_t on_String(void *user, uint32_t id, const char *text)
{
    const uint64_t words[] = {id};
    return keep(user, VT_RECORD_String, words, text, strlen(text) + 1);
}

static uint32_t on_Group(void *user, uint32_t id, uint32_t name, uint8_t type, uint8_t paradigm, uint32_t flags,
                         uint32_t n, const uint64_t *members)
{
    const uint64_t words[] = {id, name, type, paradigm, flags};
    return keep(user, VT_RECORD_Group, words, members, n * sizeof *members);
}

static uint32_t on_MetricClass(void *user, uint32_t id, uint8_t n, const uint32_t *members, uint8_t occurrence,
                               uint8_t recorder)
{
    const uint64_t words[] = {id, occurrence, recorder};
    return keep(user, VT_RECORD_MetricClass, words, members, n * sizeof *members);
}

static uint32_t on_CartTopology(void *user, uint32_t id, uint32_t name, uint32_t comm, uint8_t n,
                                const uint32_t *dimensions)
{
    const uint64_t words[] = {id, name, comm};
    return keep(user, VT_RECORD_CartTopology, words, dimensions, n * sizeof *dimensions);
}

static uint32_t on_CartCoordinate(void *user, uint32_t topology, uint32_t rank, uint8_t n, const uint32_t *coordinates)
{
    const uint64_t words[] = {topology, rank};
    return keep(user, VT_RECORD_CartCoordinate, words, coordinates, n * sizeof *coordinates);
}

/* The list: properties, types and values, each 256 bytes or words long. */
struct io_properties {
    uint8_t properties[256], types[256];
    uint64_t values[256];
};

static uint32_t on_IoParadigm(void *user, uint8_t id, uint32_t identification, uint32_t name, uint8_t class,
                              uint32_t flags, uint8_t n, const uint8_t *properties, const uint8_t *types,
                              const union OTF2_AttributeValue_union *list)
{
    const uint64_t words[] = {id, identification, name, class, flags};
    struct io_properties all = {0};
    for (unsigned i = 0; i < n; i++) {
        all.properties[i] = properties[i];
        all.types[i] = types[i];
        all.values[i] = list[i].uint64;
    }
    return keep(user, VT_RECORD_IoParadigm, words, n ? &all : NULL, n ? sizeof all : 0);
}

static uint32_t on_Unknown(void *user)
{
    ((struct vt_copy *)user)->failed = VT_COPY_UNKNOWN;
    return INTERRUPT;
}

/* ---- Definitions that stay ---- */

static int64_t place_of(const struct vt_copy *c, uint64_t location)
{
    uint64_t low = 0, high = c->locations;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (c->ids[middle] < location) low = middle + 1;
        else high = middle;
    }
    return low < c->locations && c->ids[low] == location ? (int64_t)low : -1;
}

static int stays(const struct vt_copy *c, uint32_t kind, uint64_t id)
{
    if (kind == VT_COPIED_Location) return place_of(c, id) >= 0;
    return id < c->kinds[kind].count && c->kinds[kind].marks[id];
}

void vt_copy_mark(struct vt_copy *c, uint32_t kind, uint64_t id)
{
    if (kind >= VT_COPIED_KINDS_COUNT || kind == VT_COPIED_Location || id >= c->kinds[kind].count) return;
    if (!c->kinds[kind].marks[id]) c->marked = 1;
    c->kinds[kind].marks[id] = 1;
}

static uint32_t kind_of_type(uint8_t type)
{
    return type >= TYPE_STRING && type <= TYPE_LOCATION_GROUP ? type - TYPE_STRING : VT_COPIED_None;
}

void vt_copy_mark_value(struct vt_copy *c, uint8_t type, uint64_t value)
{
    vt_copy_mark(c, kind_of_type(type), (uint32_t)value);
}

VT_EXPORT void vt_copy_mark_all(struct vt_copy *c, uint32_t kind, const uint32_t *ids, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) vt_copy_mark(c, kind, ids[i]);
}

static const uint32_t scopes[] = {VT_COPIED_Location, VT_COPIED_LocationGroup, VT_COPIED_SystemTreeNode,
                                  VT_COPIED_Group};
#define SCOPE_KIND(type) ((type) < sizeof scopes / sizeof *scopes ? scopes[type] : VT_COPIED_None)

/* Returns the kind of a group's members; the group stays if one of them stays. */
static uint32_t members_kind(uint64_t type)
{
    return type == REGIONS                               ? VT_COPIED_Region
           : type == METRICS                             ? VT_COPIED_Metric
           : type == LOCATIONS || type == COMM_LOCATIONS ? VT_COPIED_Location
                                                         : VT_COPIED_None;
}

static int record_stays(const struct vt_copy *c, const uint64_t *w)
{
    const struct value *v = values[w[1]];
    const uint64_t *list = w + HEAD + sizes[w[1]] + 1;
    for (unsigned i = 0; i < 2; i++)
        if ((v[i].use == OWN || v[i].use == PART) && !stays(c, v[i].kind, w[HEAD + i])) {
            if (w[1] == VT_RECORD_CartTopology) return stays(c, VT_COPIED_Comm, w[HEAD + 2]);
            if (w[1] != VT_RECORD_Group) return 0;
            uint32_t kind = members_kind(w[HEAD + 2]);
            for (uint64_t n = 0; kind < VT_COPIED_None && n < list[-1] / 8; n++)
                if (stays(c, kind, list[n])) return 1;
            return 0;
        }
    if (w[1] == VT_RECORD_LocationProperty)
        for (unsigned i = 0; i < c->ndropped; i++)
            if (c->dropped[i] == w[HEAD + 1]) return 0;
    return 1;
}

/* Marks all that a record refers to, if the record stays. */
static void mark_record(struct vt_copy *c, const uint64_t *w)
{
    if (!record_stays(c, w)) return;
    const struct value *v = values[w[1]];
    unsigned n = sizes[w[1]];
    const uint64_t *list = w + HEAD + n + 1;
    for (unsigned i = 0; i < n; i++) {
        if (v[i].use == OWN || v[i].use == REF) vt_copy_mark(c, v[i].kind, w[HEAD + i]);
        if (v[i].use == VALUE) vt_copy_mark_value(c, (uint8_t)w[HEAD + i - 1], w[HEAD + i]);
        if (v[i].use == SCOPED) vt_copy_mark(c, SCOPE_KIND(w[HEAD + i - 1]), w[HEAD + i]);
    }
    const uint32_t *members = (const void *)list;
    uint32_t kind = w[1] == VT_RECORD_MetricClass    ? VT_COPIED_MetricMember
                    : w[1] == VT_RECORD_CartTopology ? VT_COPIED_CartDimension
                                                     : VT_COPIED_None;
    for (uint64_t i = 0; kind < VT_COPIED_None && i < list[-1] / 4; i++) vt_copy_mark(c, kind, members[i]);
    if (w[1] == VT_RECORD_IoParadigm && list[-1]) {
        const struct io_properties *all = (const void *)list;
        for (unsigned i = 0; i < 256; i++) vt_copy_mark_value(c, all->types[i], all->values[i]);
    }
}

/* Most definitions refer to earlier ones, so two passes, from the last definition to the first, are enough. */
static int mark_references(struct vt_copy *c)
{
    uint64_t n = 0, *starts = malloc((c->count / (HEAD + 2) + 1) * sizeof *starts);
    if (!starts) return 0;
    for (uint64_t at = 0; at < c->count; at += c->words[at]) starts[n++] = at;
    do {
        c->marked = 0;
        for (uint64_t i = n; i-- > 0;) mark_record(c, c->words + starts[i]);
    } while (c->marked);
    free(starts);
    return 1;
}

/* Returns the members of a group that stay, in their order. now: their new numbers. */
static int shrink(struct vt_copy *c, const uint64_t *w, struct ranks *ranks)
{
    const uint64_t *list = w + HEAD + sizes[w[1]] + 1, type = w[HEAD + 2];
    const struct ranks *of = &c->paradigms[w[HEAD + 3] & 255];
    ranks->count = list[-1] / 8;
    ranks->now = malloc((ranks->count + 1) * sizeof *ranks->now);
    uint32_t next = 0;
    for (uint64_t i = 0; ranks->now && i < ranks->count; i++) {
        int left = type == COMM_GROUP ? list[i] < of->count && of->now[list[i]] != NONE : place_of(c, list[i]) >= 0;
        ranks->now[i] = left ? next++ : NONE;
        ranks->changed |= !left;
    }
    return ranks->now != NULL;
}

static int take_ranks(struct vt_copy *c)
{
    uint32_t groups = c->kinds[VT_COPIED_Group].count;
    c->groups = calloc(groups + 1, sizeof *c->groups);
    c->group_of = calloc(c->kinds[VT_COPIED_Comm].count + 1, sizeof *c->group_of);
    c->comm_of = calloc(c->kinds[VT_COPIED_RmaWin].count + 1, sizeof *c->comm_of);
    c->topology_comm = calloc(c->kinds[VT_COPIED_CartTopology].count + 1, sizeof *c->topology_comm);
    if (!c->groups || !c->group_of || !c->comm_of || !c->topology_comm) return VT_COPY_NO_MEMORY;
    for (int step = 0; step < 3; step++)
        for (uint64_t at = 0; at < c->count; at += c->words[at]) {
            const uint64_t *w = c->words + at, *v = w + HEAD;
            if (w[1] == VT_RECORD_Group && v[2] == (step ? COMM_GROUP : COMM_LOCATIONS) && step < 2) {
                if (!c->groups[v[0]].now && !shrink(c, w, &c->groups[v[0]])) return VT_COPY_NO_MEMORY;
                if (!step) c->paradigms[v[3] & 255] = c->groups[v[0]];
            }
            if (step < 2) continue;
            if (w[1] == VT_RECORD_Comm) c->group_of[v[0]] = (uint32_t)v[2];
            if (w[1] == VT_RECORD_RmaWin) c->comm_of[v[0]] = (uint32_t)v[2];
            if (w[1] == VT_RECORD_CartTopology) c->topology_comm[v[0]] = (uint32_t)v[2];
            if (w[1] != VT_RECORD_InterComm) continue;
            c->group_of[v[0]] = NONE;
            if (stays(c, VT_COPIED_Comm, v[0]) &&
                ((v[2] < groups && c->groups[v[2]].changed) || (v[3] < groups && c->groups[v[3]].changed)))
                return VT_COPY_INTERCOMM;
        }
    return VT_COPY_OK;
}

VT_EXPORT int vt_copy_close(struct vt_copy *c)
{
    if (!mark_references(c)) return VT_COPY_NO_MEMORY;
    for (uint32_t kind = 0; kind < VT_COPIED_KINDS_COUNT; kind++) {
        uint32_t next = 0;
        struct numbers *n = &c->kinds[kind];
        for (uint32_t id = 0; id < n->count; id++) n->now[id] = n->marks[id] ? next++ : NONE;
    }
    c->closed = 1;
    return take_ranks(c);
}

/* ---- New numbers ---- */

uint32_t vt_copy_ref(const struct vt_copy *c, uint32_t kind, uint32_t id)
{
    if (!c->closed || kind == VT_COPIED_Paradigm) return id; /* an enumeration, without definitions in some archives */
    return id < c->kinds[kind].count ? c->kinds[kind].now[id] : NONE;
}

VT_EXPORT uint32_t vt_copy_number(const struct vt_copy *c, uint32_t kind, uint32_t id)
{
    return kind < VT_COPIED_KINDS_COUNT ? vt_copy_ref(c, kind, id) : NONE;
}

static uint64_t wide_ref(const struct vt_copy *c, uint32_t kind, uint64_t id)
{
    if (!c->closed || kind == VT_COPIED_None) return id;
    if (kind != VT_COPIED_Location) return vt_copy_ref(c, kind, (uint32_t)id);
    int64_t place = place_of(c, id);
    return place < 0 ? UINT64_MAX : c->ids_now[place];
}

uint64_t vt_copy_value(const struct vt_copy *c, uint8_t type, uint64_t value)
{
    uint32_t kind = kind_of_type(type);
    if (!c->closed || kind == VT_COPIED_None) return value;
    return kind == VT_COPIED_Location ? wide_ref(c, kind, value) : vt_copy_ref(c, kind, (uint32_t)value);
}

uint32_t vt_copy_rank(const struct vt_copy *c, uint32_t comm, uint32_t rank)
{
    if (!c->closed || comm >= c->kinds[VT_COPIED_Comm].count) return rank;
    uint32_t group = c->group_of[comm];
    if (group >= c->kinds[VT_COPIED_Group].count || !c->groups[group].now) return rank;
    /* Numbers above the ranks have special meanings, such as no root. */
    return rank < c->groups[group].count ? c->groups[group].now[rank] : rank;
}

uint32_t vt_copy_target(const struct vt_copy *c, uint32_t win, uint32_t rank)
{
    if (!c->closed || win >= c->kinds[VT_COPIED_RmaWin].count) return rank;
    return vt_copy_rank(c, c->comm_of[win], rank);
}

/* ---- Writing ---- */

#define POSITION(use, type, kind, name) at_##name,
#define PASSED(use, type, kind, name) , VT_IF_VALUE(use, ((type){.uint64 = w[at_##name]}), (type)w[at_##name])
#define WRITE(name)                                                                                                    \
    static int32_t write_##name(void *writer, const uint64_t *w)                                                       \
    {                                                                                                                  \
        enum { VT_D_##name(POSITION) };                                                                                \
        return otf2.write_##name(writer VT_D_##name(PASSED));                                                          \
    }
VT_COPIED_DEFINITIONS(WRITE)

/* Writes a group without the members that do not stay. */
static int32_t write_Group(const struct vt_copy *c, void *writer, const uint64_t *old, const uint64_t *v)
{
    const uint64_t *list = old + HEAD + sizes[old[1]] + 1, n = list[-1] / 8, type = v[2];
    uint32_t kind = members_kind(type), left = 0;
    const struct ranks *of = &c->paradigms[v[3] & 255];
    uint64_t *members = malloc((n + 1) * sizeof *members);
    if (!members) return -1;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t member = list[i];
        if (c->closed && type == COMM_GROUP)
            member = list[i] < of->count && of->now[list[i]] != NONE ? of->now[list[i]] : UINT64_MAX;
        else if (c->closed && kind < VT_COPIED_None)
            member = stays(c, kind, list[i]) ? wide_ref(c, kind, list[i]) : UINT64_MAX;
        if (member != UINT64_MAX) members[left++] = member;
    }
    int32_t code = otf2.write_Group(writer, (uint32_t)v[0], (uint32_t)v[1], (uint8_t)type, (uint8_t)v[3],
                                    (uint32_t)v[4], left, members);
    free(members);
    return code;
}

static int32_t write_IoParadigm(const struct vt_copy *c, void *writer, const uint64_t *list, const uint64_t *v)
{
    struct io_properties all = {0};
    unsigned n = 0;
    if (list[-1]) memcpy(&all, list, sizeof all);
    while (n < 255 && all.types[n]) {
        all.values[n] = vt_copy_value(c, all.types[n], all.values[n]);
        n++;
    }
    return otf2.write_IoParadigm(writer, (uint8_t)v[0], (uint32_t)v[1], (uint32_t)v[2], (uint8_t)v[3], (uint32_t)v[4],
                                 (uint8_t)n, all.properties, all.types, all.values);
}

/* A text that has no other one must not get into the copy. */
static const char *text_of(const struct vt_copy *c, uint64_t id, const char *text)
{
    return !c->texts ? text : id < c->ntexts ? c->texts[id] : "";
}

static int is_dropped_property(const struct vt_copy *c, const uint64_t *w)
{
    if (!c->texts) return 0; /* else a property whose name has no text does not stay */
    switch (w[1]) {
    case VT_RECORD_SystemTreeNodeProperty:
    case VT_RECORD_LocationGroupProperty:
    case VT_RECORD_LocationProperty:
    case VT_RECORD_CallingContextProperty:
    case VT_RECORD_IoFileProperty: return w[HEAD + 1] >= c->ntexts || c->drops[w[HEAD + 1]];
    default: return 0;
    }
}

/* Definitions with lists; w: the record, v: its values with new numbers. */
static int32_t write_listed(const struct vt_copy *c, void *writer, const uint64_t *w, const uint64_t *v)
{
    const uint64_t *list = w + HEAD + sizes[w[1]] + 1;
    uint32_t members[256] = {0};
    uint8_t n = (uint8_t)(list[-1] / 4);
    uint32_t kind = w[1] == VT_RECORD_MetricClass ? VT_COPIED_MetricMember : VT_COPIED_CartDimension;
    switch (w[1]) {
    case VT_RECORD_String: return otf2.write_String(writer, (uint32_t)v[0], text_of(c, w[HEAD], (const char *)list));
    case VT_RECORD_Group: return write_Group(c, writer, w, v);
    case VT_RECORD_IoParadigm: return write_IoParadigm(c, writer, list, v);
    case VT_RECORD_CartCoordinate:
        if (v[1] == NONE) return 0;
        return otf2.write_CartCoordinate(writer, (uint32_t)v[0], (uint32_t)v[1], n, (const void *)list);
    default:
        for (unsigned i = 0; i < n; i++) members[i] = vt_copy_ref(c, kind, ((const uint32_t *)list)[i]);
    }
    if (w[1] == VT_RECORD_MetricClass)
        return otf2.write_MetricClass(writer, (uint32_t)v[0], n, members, (uint8_t)v[1], (uint8_t)v[2]);
    return otf2.write_CartTopology(writer, (uint32_t)v[0], (uint32_t)v[1], (uint32_t)v[2], n, members);
}

/* The values of a record with new numbers. */
static void renumber(const struct vt_copy *c, const uint64_t *w, uint64_t *now)
{
    const struct value *v = values[w[1]];
    for (unsigned i = 0; i < sizes[w[1]]; i++) {
        uint64_t word = w[HEAD + i];
        switch (v[i].use) {
        case OWN:
        case PART:
        case REF:
        case WEAK: now[i] = wide_ref(c, v[i].kind, word); break;
        case VALUE: now[i] = vt_copy_value(c, (uint8_t)w[HEAD + i - 1], word); break;
        case SCOPED: now[i] = wide_ref(c, SCOPE_KIND(w[HEAD + i - 1]), word); break;
        case RANK: /* in the communicator of the topology before it */
            now[i] = c->closed ? vt_copy_rank(c, c->topology_comm[w[HEAD]], (uint32_t)word) : word;
            break;
        default: now[i] = word;
        }
    }
    int64_t place = w[1] == VT_RECORD_Location && c->ids ? place_of(c, w[HEAD]) : -1;
    if (place >= 0) now[3] = c->ids_events[place];
}

VT_EXPORT int32_t vt_copy_write(struct vt_copy *c, void *writer, const uint64_t *clock)
{
    static int32_t (*const write[])(void *, const uint64_t *) = {
#define ENTRY(name) [VT_RECORD_##name] = write_##name,
        VT_COPIED_DEFINITIONS(ENTRY)};
    int32_t code = otf2.clock(writer, clock[0], clock[1], clock[2], clock[3]);
    for (uint64_t at = 0; !code && at < c->count; at += c->words[at]) {
        const uint64_t *w = c->words + at;
        uint64_t now[12] = {0};
        if ((c->closed && !record_stays(c, w)) || is_dropped_property(c, w)) continue;
        renumber(c, w, now);
        code = w[1] < sizeof write / sizeof *write ? write[w[1]](writer, now) : write_listed(c, writer, w, now);
    }
    return code;
}

/* ---- Functions for Python ---- */

VT_EXPORT int vt_copy_find(const char *path, char *text, size_t size)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int fine = library && VT_FIND(otf2.create, "GlobalDefReaderCallbacks_New") &&
               VT_FIND(otf2.destroy, "GlobalDefReaderCallbacks_Delete") &&
               VT_FIND(otf2.clock, "GlobalDefWriter_WriteClockProperties") &&
               VT_FIND(otf2.set_Unknown, "GlobalDefReaderCallbacks_SetUnknownCallback");
#define FOUND(name)                                                                                                    \
    fine = fine && VT_FIND(otf2.set_##name, "GlobalDefReaderCallbacks_Set" #name "Callback") &&                        \
           VT_FIND(otf2.write_##name, "GlobalDefWriter_Write" #name);
    VT_COPIED_DEFINITIONS(FOUND)
    VT_COPIED_LISTS(FOUND) if (!fine) snprintf(text, size, "%s cannot copy definitions", path);
    return !fine;
}

VT_EXPORT struct vt_copy *vt_copy_new(void) { return calloc(1, sizeof(struct vt_copy)); }

VT_EXPORT void vt_copy_free(struct vt_copy *c)
{
    if (!c) return;
    for (uint32_t i = 0; i < VT_COPIED_KINDS_COUNT; i++) {
        free(c->kinds[i].now);
        free(c->kinds[i].marks);
    }
    for (uint32_t i = 0; c->groups && i < c->kinds[VT_COPIED_Group].count; i++) free(c->groups[i].now);
    free(c->groups);
    free(c->group_of);
    free(c->comm_of);
    free(c->topology_comm);
    free(c->words);
    free(c);
}

VT_EXPORT void *vt_copy_callbacks(void)
{
    void *callbacks = otf2.create();
    if (!callbacks) return NULL;
    otf2.set_Unknown(callbacks, (void *)on_Unknown);
#define SET(name) otf2.set_##name(callbacks, (void *)on_##name);
    VT_COPIED_DEFINITIONS(SET) VT_COPIED_LISTS(SET) return callbacks;
}

VT_EXPORT void vt_copy_callbacks_free(void *callbacks)
{
    if (callbacks) otf2.destroy(callbacks);
}

VT_EXPORT int vt_copy_failed(const struct vt_copy *c) { return c->failed; }

VT_EXPORT void vt_copy_locations(struct vt_copy *c, const uint64_t *ids, const uint64_t *now, const uint64_t *events,
                                 uint64_t n)
{
    c->ids = ids;
    c->ids_now = now;
    c->ids_events = events;
    c->locations = n;
}

VT_EXPORT const uint64_t *vt_copy_words(const struct vt_copy *c, uint64_t *count)
{
    *count = c->count;
    return c->words;
}

VT_EXPORT void vt_copy_texts(struct vt_copy *c, const char *const *texts, const uint8_t *drops, uint64_t n)
{
    c->texts = texts;
    c->drops = drops;
    c->ntexts = n;
}

VT_EXPORT void vt_copy_drop_property(struct vt_copy *c, uint32_t name)
{
    if (c->ndropped < sizeof c->dropped / sizeof *c->dropped) c->dropped[c->ndropped++] = name;
}
