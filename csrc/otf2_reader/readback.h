/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader of OTF2 archives: libotf2 decodes the files, and its callbacks fill columns of events (events.c) and tables
   of definitions (definitions.c); stack_replay.c follows the stack of a location. This header and stack_replay.h are the
   interface for Python (src/vtrace/io/archive/reader_abi.py); structures.c serves the structures.

   The caller owns the libotf2 reader, batches, definitions and replays, and frees each by the function ..._free of its
   kind. events.c and definitions.c own the functions of libotf2 that they call; vt_readback_find and
   vt_definitions_find fill these in before all other calls. In this folder these rules always hold:
   - Several threads may call any function at once, but only one thread at a time uses a batch, definitions or a replay.
     Nothing else is shared, so the reader takes no lock.
   - Ids and times in an archive may be any number: an id is checked before its use as an index.
   - A batch has a fixed number of events, so memory use does not grow with the length of a location. */
#ifndef VT_READBACK_H
#define VT_READBACK_H

#include <stddef.h>
#include <stdint.h>
#include "../otf2_writer/otf2.h"

#define VT_EXPORT __attribute__((visibility("default")))

enum vt_read_kind {
#define VT_READ_NUMBER(name, ...) VT_READ_##name,
    VT_READ_BARE_EVENTS(VT_READ_NUMBER) VT_READ_EVENTS(VT_READ_NUMBER) VT_READ_LIST_EVENTS(VT_READ_NUMBER)
#undef VT_READ_NUMBER
        VT_READ_KINDS
};

/* The callbacks of libotf2: each adds an event to a struct vt_batch (user). The pass that writes an archive calls them,
   too, for a listener. */
#define VT_READ_HEAD uint64_t location, uint64_t time, uint64_t position, void *user, OTF2_AttributeList *attributes
#define VT_READ_CALLBACK(name, ...) uint32_t vt_read_##name(VT_READ_HEAD VT_E_##name(VT_DECLARED));
VT_READ_BARE_EVENTS(VT_READ_CALLBACK)
VT_READ_EVENTS(VT_READ_CALLBACK)
VT_READ_LIST_EVENTS(VT_READ_CALLBACK)
#undef VT_READ_CALLBACK

#define VT_NONE 0xffffffffu
#define VT_DETAIL_WORDS 5
#define VT_JOINED_MOST UINT32_MAX /* calls that a Leave ends */

/* The values of an event besides time, kind and one reference. A Metric has one detail for each value. */
struct vt_detail {
    uint32_t row; /* row of the event in the batch */
    uint16_t kind; /* enum vt_read_kind */
    uint16_t marks; /* set by the replay: the marks of all open regions */
    uint32_t ref;
    uint32_t region, caller, node; /* set by the replay: innermost open region, its caller, call path */
    uint64_t words[VT_DETAIL_WORDS];
};

/* An attribute of an event. */
struct vt_read_attribute {
    uint32_t row, attribute;
    uint32_t region, caller, node; /* as in details; for an Enter or Leave, its own region is the innermost region */
    uint32_t type; /* OTF2_Type */
    uint64_t value;
};

/* Events of one location in order. Times are ns since the clock's offset. */
struct vt_batch {
    int64_t *time;
    uint32_t *ref; /* region of Enter and Leave, comm of messages ...; VT_NONE */
    uint8_t *kind;
    struct vt_detail *details;
    struct vt_read_attribute *attributes;
    uint64_t count, ndetails, nattributes, details_max, attributes_max, capacity;
    int64_t from, to; /* range of times to take, both included */
    uint64_t clock_offset, resolution; /* of the archive: ticks, and ticks per second */
    uint64_t want_attributes;
    uint64_t calls_attribute; /* 1 + id of the attribute with the number of calls that a Leave ends, which is always */
    /* taken; 0: the archive has none */
    uint64_t unknown; /* events so far that libotf2 has no name for */
    uint64_t ended; /* an event was beyond `to` */
    uint64_t early; /* events so far that are earlier than the previous event */
    int64_t last; /* time of the latest event */
    uint64_t skip; /* number of events to pass over first */
    uint64_t out_of_room; /* memory was missing */
    uint8_t wanted[128]; /* 1 for kinds that get rows; other events set only the time */
    uint8_t detailed[128]; /* 1 for kinds that have details; the caller sets all to 0 */
};

enum { VT_READ_OK, VT_READ_NO_MEMORY };

#define VT_READ_NS 1000000000u
#define VT_READ_LATEST (INT64_C(1) << 60) /* ns, 36 years: sums and differences of damaged times must not overflow */

/* Converts a time of the archive to ns since the clock's offset. */
static inline int64_t vt_read_ns(const struct vt_batch *b, uint64_t time)
{
    int64_t ns = (int64_t)(time - b->clock_offset);
    if (__builtin_expect(b->resolution != VT_READ_NS, 0)) {
        long double exact = (long double)ns * VT_READ_NS / (long double)b->resolution;
        ns = exact > VT_READ_LATEST ? VT_READ_LATEST : exact < -VT_READ_LATEST ? -VT_READ_LATEST : (int64_t)exact;
    }
    return ns > VT_READ_LATEST ? VT_READ_LATEST : ns < -VT_READ_LATEST ? -VT_READ_LATEST : ns;
}

/* A number of bytes of an event; 0 if it is unknown, OTF2's 2^64 - 1, or impossible. */
static inline uint64_t vt_read_bytes(uint64_t bytes) { return bytes >> 62 ? 0 : bytes; }

/* Writes the schema of the reader's structures, as vt_kernel_schema does. */
VT_EXPORT size_t vt_readback_schema(char *text, size_t room);
VT_EXPORT const char *vt_readback_event(uint32_t number);
VT_EXPORT int vt_readback_find(const char *library, char *text, size_t size);
VT_EXPORT struct vt_batch *vt_readback_batch(uint64_t capacity);
VT_EXPORT void vt_readback_batch_free(struct vt_batch *b);
/* Returns an OTF2_EvtReaderCallbacks for batches; NULL: no memory. */
VT_EXPORT void *vt_readback_callbacks(void);
VT_EXPORT void vt_readback_callbacks_free(void *callbacks);

/* ---- short_location.c ---- */

/* Finds the functions of libotf2. Returns 0 for success. */
VT_EXPORT int vt_short_location_find(const char *library);
/* Reads the events of a location from event `first` (from 1) on, up to the batch's last time, into a batch that has
   none. reader: an OTF2_Reader whose event files are open; callbacks: of vt_readback_callbacks; folder: with the files
   of the locations. Returns the number of events; -1, with any events in the batch, for a location that has local
   definitions, has more events than the batch has room for, or cannot be read. */
VT_EXPORT int64_t vt_read_short_location(void *reader, void *callbacks, const char *folder, uint64_t location,
                                         uint64_t first, struct vt_batch *b);

/* ---- host_times.c ---- */

/* Converts times in place: linear between two or more rising knots, rounded down; the first and last segments extend
   beyond the knots. */
VT_EXPORT void vt_host_times(int64_t *times, uint64_t n, const int64_t *from, const int64_t *to, uint64_t knots);

/* ---- callbacks.c ---- */

/* Opens libotf2 and finds the functions that register the callbacks of a reader ("EvtReader"), for kinds "Name:...". An
   older libotf2 has no functions for later kinds: these stay NULL. Returns the library; NULL, with a message in text,
   if it cannot be opened. */
void *vt_find_setters(const char *path, const char *reader, const char *const *kinds, unsigned n,
                      int32_t (**set)(void *, void *), char *text, size_t size);
#define VT_FIND(place, name) (*(void **)&(place) = dlsym(library, "OTF2_" name))

/* ---- definitions.c ---- */

/* Definitions of one kind: rows of `width` numbers each. */
struct vt_table {
    uint64_t *rows;
    uint64_t count, capacity, width;
};

/* All global definitions. Strings are rows (id, offset, length) into text, lists (offset, count) into members. */
struct vt_definitions;
VT_EXPORT int vt_definitions_find(const char *library, char *text, size_t size);
VT_EXPORT struct vt_definitions *vt_definitions_new(void);
VT_EXPORT void vt_definitions_free(struct vt_definitions *d);
VT_EXPORT void *vt_definitions_callbacks(void);
VT_EXPORT void vt_definitions_callbacks_free(void *callbacks);
/* Name and fields of a table by its number: "Name: field field"; NULL beyond the last table. */
VT_EXPORT const char *vt_definitions_kind(uint32_t number);
VT_EXPORT struct vt_table *vt_definitions_table(struct vt_definitions *d, uint32_t number);
VT_EXPORT int vt_definitions_failed(const struct vt_definitions *d);

#endif
