/* SPDX-License-Identifier: BSD-3-Clause */
/* The rewriter: copies an OTF2 archive. libotf2's callbacks for definitions fill a store of records
   (copy_definitions.c). Those for events (copy_events.c) call libotf2's function that writes the same event, with new
   numbers of definitions. Python (src/vtrace/transform) opens the reader and the writer, and selects the omitted parts.
   external_lines.h has the data of other tools.

   The caller owns the readers, the writers and all arrays that it passes; it frees each vt_copy and vt_rewrite by the
   function ..._free of its kind. copy_definitions.c owns the content of vt_copy, copy_events.c that of vt_rewrite. In
   this folder these rules always hold:
   - A copy of all definitions changes no number. Otherwise a first pass over the events marks the definitions that stay
     and returns the events that have counterparts (struct vt_copied_event). vt_copy_close then assigns new numbers.
   - After vt_copy_close a vt_copy does not change: several threads may use it, each with its own vt_rewrite.
   - Ids in an archive may be any number: an id is checked before its use as an index. */
#ifndef VT_REWRITER_H
#define VT_REWRITER_H

#include "../otf2_reader/definitions.h"
#include "../otf2_reader/readback.h"

/* clang-format off */
/* Kinds of definitions that have numbers. The first ones have the order of OTF2_Type, from OTF2_TYPE_STRING on. */
#define VT_COPIED_KINDS(X)                                                                                             \
    X(String) X(Attribute) X(Location) X(Region) X(Group) X(Metric) X(Comm) X(Parameter) X(RmaWin)                     \
    X(SourceCodeLocation) X(CallingContext) X(InterruptGenerator) X(IoFile) X(IoHandle) X(LocationGroup)               \
    X(SystemTreeNode) X(MetricMember) X(CartDimension) X(CartTopology) X(Callpath) X(Callsite) X(IoParadigm)           \
    X(Paradigm)
#define VT_COPIED_DEFINITIONS(X)                                                                                       \
    X(Paradigm) X(ParadigmProperty) X(Attribute) X(SystemTreeNode) X(SystemTreeNodeProperty) X(SystemTreeNodeDomain)   \
    X(LocationGroup) X(LocationGroupProperty) X(Location) X(LocationProperty) X(Region) X(Callsite) X(Callpath)        \
    X(CallpathParameter) X(MetricMember) X(MetricInstance) X(MetricClassRecorder) X(Comm) X(InterComm) X(Parameter)    \
    X(RmaWin) X(SourceCodeLocation) X(CallingContext) X(CallingContextProperty) X(InterruptGenerator)                  \
    X(CartDimension) X(IoRegularFile) X(IoDirectory) X(IoFileProperty) X(IoHandle) X(IoPreCreatedHandleState)
#define VT_COPIED_LISTS(X) X(String) X(Group) X(MetricClass) X(CartTopology) X(CartCoordinate) X(IoParadigm)
/* clang-format on */

enum vt_copied_kind {
#define VT_COPIED_NUMBER(name) VT_COPIED_##name,
    VT_COPIED_KINDS(VT_COPIED_NUMBER)
#undef VT_COPIED_NUMBER
        VT_COPIED_KINDS_COUNT,
    VT_COPIED_None = VT_COPIED_KINDS_COUNT
};

enum vt_copied_definition {
#define VT_COPIED_NUMBER(name) VT_RECORD_##name,
    VT_COPIED_DEFINITIONS(VT_COPIED_NUMBER) VT_COPIED_LISTS(VT_COPIED_NUMBER)
#undef VT_COPIED_NUMBER
        VT_RECORDS
};

#define VT_COPY_LARGEST_ID (1u << 26)

enum { VT_COPY_COUNTER = 1, VT_COPY_SECTION };

enum { VT_COPY_OK, VT_COPY_NO_MEMORY, VT_COPY_LARGE_ID, VT_COPY_INTERCOMM, VT_COPY_UNKNOWN };

/* An event with a counterpart on this or another location. Values that the event lacks are 0. */
struct vt_copied_event {
    uint64_t time, ordinal; /* ordinal: its number in the location */
    uint64_t id; /* request, operation, lock, second handle, end of a flush */
    uint32_t ref; /* communicator, window or handle */
    uint32_t peer; /* rank */
    uint32_t tag; /* tag of a message; operation of a collective */
    uint16_t kind;
    uint8_t inside; /* 1: in the window, and directly inside a selected region */
    uint8_t selected; /* 1: directly inside a selected region */
};

struct vt_copy;

/* A section of the program that is open: the number and the time of the Metric event with its start. */
struct vt_open_section {
    uint64_t ordinal, time;
    uint32_t metric;
};

/* One pass over the events of a location. */
struct vt_rewrite {
    struct vt_copy *copy;
    void *writer; /* OTF2_EvtWriter; NULL: the first pass */
    const uint64_t *listed; /* ascending: events to omit, if inside, or to move to the edge of the window */
    const uint8_t *regions; /* selected regions by id; NULL: all */
    const uint8_t *contexts; /* selected calling contexts by id; NULL: all */
    /* Metric classes by id that any selection keeps: 1 for counters, since the increase in an omitted event would count
       for another call; 2 for a section of the program. */
    const uint8_t *metrics;
    /* For a selection of call paths: takes the caller's call path and the region, returns the call path (from 1 on)
       times two, plus 1 if selected; NULL: all. */
    uint32_t (*ask)(uint32_t, uint32_t);
    void *answers; /* a vt_pair_table */
    uint64_t from, to; /* the window: from <= time < to */
    uint64_t nlisted, nregions, ncontexts, nmetrics, whole; /* whole: 1: all events as they are */
    struct vt_copied_event *events; /* result of the first pass */
    uint64_t *edges; /* result of the first pass: Enter and Leave of calls across an edge of the window */
    uint64_t nevents, events_max, nedges, edges_max;
    struct vt_open_section *open_sections; /* used in the first pass */
    uint64_t nopen, open_max;
    void *stack; /* open calls */
    uint64_t depth, stack_max;
    void *attributes; /* an OTF2_AttributeList */
    uint64_t seen, next, last, written; /* events so far; the next listed one; the latest time */
    uint64_t unknown, early, stray, ended, code, out_of_room; /* code: the writer's OTF2_ErrorCode */
    uint64_t counts[128]; /* written events by kind */
};

VT_EXPORT size_t vt_rewriter_schema(char *text, size_t room);

/* ---- copy_definitions.c ---- */

VT_EXPORT int vt_copy_find(const char *library, char *text, size_t size);
VT_EXPORT struct vt_copy *vt_copy_new(void);
VT_EXPORT void vt_copy_free(struct vt_copy *c);
/* An OTF2_GlobalDefReaderCallbacks whose user data is a vt_copy. */
VT_EXPORT void *vt_copy_callbacks(void);
VT_EXPORT void vt_copy_callbacks_free(void *callbacks);
VT_EXPORT int vt_copy_failed(const struct vt_copy *c);
/* Names of kinds and records: "Comm", and "Comm:OWN u4 Comm, REF u4 String ..."; NULL beyond the last one. */
VT_EXPORT const char *vt_copy_kind(uint32_t number);
VT_EXPORT const char *vt_copy_record(uint32_t number);
/* The locations that stay: ids ascending, their new ids and numbers of events. The caller owns the arrays. */
VT_EXPORT void vt_copy_locations(struct vt_copy *c, const uint64_t *ids, const uint64_t *now, const uint64_t *events,
                                 uint64_t n);
/* Removes the properties of locations with this name (a string's id). */
VT_EXPORT void vt_copy_drop_property(struct vt_copy *c, uint32_t name);
VT_EXPORT void vt_copy_mark_all(struct vt_copy *c, uint32_t kind, const uint32_t *ids, uint64_t n);
/* Keeps the marked definitions and all that these refer to; assigns new numbers. Returns VT_COPY_OK or an error. */
VT_EXPORT int vt_copy_close(struct vt_copy *c);
VT_EXPORT uint32_t vt_copy_number(const struct vt_copy *c, uint32_t kind, uint32_t id);
/* All definitions, one after the other: number of words, record, values, bytes of the list, list. count: of all words. */
VT_EXPORT const uint64_t *vt_copy_words(const struct vt_copy *c, uint64_t *count);
/* The texts of strings in the copy, by id. drops: 1 for the names of properties that are not in the copy. The caller owns
   the arrays. */
VT_EXPORT void vt_copy_texts(struct vt_copy *c, const char *const *texts, const uint8_t *drops, uint64_t n);
/* Writes the definitions that stay, or all; first the clock, of four numbers. Returns an OTF2_ErrorCode. */
VT_EXPORT int32_t vt_copy_write(struct vt_copy *c, void *writer, const uint64_t *clock);

void vt_copy_mark(struct vt_copy *c, uint32_t kind, uint64_t id);
uint32_t vt_copy_ref(const struct vt_copy *c, uint32_t kind, uint32_t id);
uint64_t vt_copy_value(const struct vt_copy *c, uint8_t type, uint64_t value);
void vt_copy_mark_value(struct vt_copy *c, uint8_t type, uint64_t value);
/* Returns the new number of a rank in a communicator, or in a window's communicator. */
uint32_t vt_copy_rank(const struct vt_copy *c, uint32_t comm, uint32_t rank);
uint32_t vt_copy_target(const struct vt_copy *c, uint32_t win, uint32_t rank);

/* ---- copy_events.c ---- */

VT_EXPORT int vt_rewrite_find(const char *library, char *text, size_t size);
VT_EXPORT struct vt_rewrite *vt_rewrite_new(struct vt_copy *c);
VT_EXPORT void vt_rewrite_free(struct vt_rewrite *r);
VT_EXPORT void *vt_rewrite_callbacks(void);
/* "MpiSend:PEER u4 Comm peer, ..." with a * before the name of an event that the first pass returns. */
VT_EXPORT const char *vt_rewrite_event(uint32_t number);
/* After the last event: the first pass lists open calls that began before the window, the second one closes calls. */
VT_EXPORT void vt_rewrite_end(struct vt_rewrite *r);

#endif
