/* SPDX-License-Identifier: BSD-3-Clause */
/* Locations: one per thread, and what it records. */
#ifndef VT_LOCATION_H
#define VT_LOCATION_H

#include <stdatomic.h>
#include <stddef.h>
#include "state.h"
#include "sys.h"
#include "write.h"

#define VT_MAX_LOCATIONS 65536u
#define VT_FILTER_SLOTS 2048u /* of the per-location filter that finds functions new to the location */
#define VT_MISSED 128u /* open regions that are entered anew when recording is switched on */
#define VT_CODE_UNKNOWN 0xffffffffu

/* A recorded call of a library, from its enter to its leave, without others in it: the lower halves of its records' heads,
   and where they stand. The next call of the function is mostly like it, and comparing heads costs a fraction of walking
   from record to record, where each has to be known before the next one is found. */
#define VT_SHAPE_RECORDS 6
#define VT_SHAPES 16 /* functions, a power of two */
struct vt_shape {
    struct vt_shape *next; /* that followed it last time */
    uint32_t records, words, classes;
    uint32_t what[VT_SHAPE_RECORDS];
    uint8_t at[VT_SHAPE_RECORDS];
};
struct vt_shapes {
    struct vt_shape *last, of[VT_SHAPES];
};

/* The stack of functions, where a rule needs it (levels.c of funwrap). */
#define VT_LEVELS 65536u /* of deeper stacks the outer half is forgotten */
struct vt_levels {
    uint32_t n, shown; /* levels, and how many of all open ones are recorded */
    uint64_t open[VT_LEVELS]; /* function, bit 63: recorded */
};

/* A location: one thread's recording. It lies in pages that a forked child sees zeroed, so that the child's first event finds
   no room, takes the slow path and gets a buffer of its own. Its thread owns all members: other threads read them with VT_READ,
   and change only `limit` and, under `lock`, chunks. */
struct vt_location {
    /* Read and written by every event; away from the page's begin, where the chunk heads' addresses alias. */
    uint8_t away[192];
    union {
        struct vt_write_cursor write_cursor;
        struct { /* its members, by their own names */
            uintptr_t busy;
            uint64_t *cursor, *limit, last;
        };
    };
    uint64_t vforked; /* 1: the thread has called vfork */
    uintptr_t code_base[2]; /* the two modules seen last: address range and place in the code space */
    uint32_t code_size[2], code_slot[2];

    uint32_t number, thread;
    _Atomic uint32_t lock; /* kernel id of the thread that moves chunks of this location or defines; 0 free */
    _Atomic uint32_t ended; /* 1: its thread has run its exit handlers; a later thread may adopt the location */
    uint32_t in_use; /* 0 in a forked child */
    uint32_t late; /* 1: exit handlers of its thread run, the others' first */
    const char *helper; /* the library that has made its thread for itself; NULL: the program has */
    uint64_t begun; /* number of its thread, whose begin stands in the trace; 0: it does not */
    char name[16]; /* of its thread, as last defined */
    uint32_t stopped; /* enum vt_lost: why it records no more */
    uint32_t size; /* enum vt_full: what it knows of VT_MAX_SIZE */
    uint64_t left; /* events that VT_MAX_SIZE has left out while others were recorded; no part of lost */
    struct vt_chunk *spare; /* the last one written by a flush that wants another at once */
    int wants_spare, keeps_room; /* keeps_room: in its def file, behind what is written now */
    uint64_t signals; /* under the lock: the signal mask of before */
    uint64_t blocked; /* the signal mask of its thread at the first event */

    struct vt_chunk *chunk, *full, *full_last; /* events: being filled, filled */
    struct vt_chunk *defs, *defs_full, *defs_last; /* the same for definitions */
    uint32_t sequence, defs_sequence, chunks, quota; /* chunks: of events in memory */
    uint32_t flushes, files; /* files: bits VT_EVENTS, VT_DEFINITIONS already created */
    uint32_t stale; /* bits of files whose head tells an earlier name: to be written when they are opened again */
    _Atomic uint64_t lost; /* events not recorded, all in all */
    uint64_t lost_told; /* of these, standing in LOST records */
    uint32_t lost_why, unwritten; /* unwritten: bits like files, a write failed, the buffer must stay */
    uint64_t records, clamped, flush_ticks, first, written_bytes;
    uint64_t complete; /* lost + 1 when its thread's last summary was written, 0: it was not */

    uint64_t resumed; /* ticks: when the last flush was over */
    uint32_t off, nmissed; /* recording is switched off; regions entered since then, and the outermost of them */
    uint64_t missed[VT_MISSED];

    struct {
        struct vt_chunk *chunk; /* where records go on after a rewind; NULL: there is no mark */
        uint32_t offset, off, voided; /* voided: 1, there was one before a flush */
        uint64_t last, lost_told; /* as they were then */
    } mark;

    uint64_t dropped, overwritten; /* ring.c: records before the next chunk that are gone; all in all */
    uint32_t answered; /* ring.c: how often it was written when that was asked for */

    struct vt_shapes shapes; /* replay.c */
    struct vt_levels *levels; /* NULL: no rule needs them */
    uint32_t *left_out; /* limits.c: calls of each limited region that are open and not recorded */
    uint32_t depth, nopen;
    uint64_t open[VT_OPEN_MAX];
    uint32_t filter[VT_FILTER_SLOTS];
    struct vt_scratch scratch; /* under the lock */
};

_Static_assert(offsetof(struct vt_location, last) == offsetof(struct vt_location, write_cursor.last),
               "the members of a write cursor");

#pragma GCC visibility push(hidden)

extern struct vt_location *_Atomic vt_locations[VT_MAX_LOCATIONS];
extern _Thread_local int vt_suppressed __attribute__((tls_model("initial-exec"))); /* records nothing */
/* This thread ends the program, and completes other threads' stacks in the room that their chunks have left. */
extern _Thread_local int vt_closing __attribute__((tls_model("initial-exec")));
extern _Thread_local struct vt_location *vt_own_location __attribute__((tls_model("initial-exec")));

int vt_busy_is_stale(uintptr_t busy, uintptr_t here);
int vt_location_lock(struct vt_location *l);
void vt_location_unlock(struct vt_location *l);
void vt_location_mend(struct vt_location *l);
uint64_t *vt_stamp(struct vt_location *l, uint64_t *at, uint64_t word, uint64_t now);
void vt_put_record(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t now); /* off or on */
void vt_stay_off(struct vt_location *l); /* behind it */
void vt_chunk_finish(struct vt_location *l);
void vt_location_flushed(struct vt_location *l); /* under busy */
unsigned vt_events_in(const uint64_t *words, unsigned n);
int vt_is_vfork_child(struct vt_location *l);

#pragma GCC visibility pop

/* As write.h has them, of a location. */
static inline void vt_busy_begin(struct vt_location *l) { vt_cursor_begin(&l->write_cursor); }
static inline void vt_busy_end(struct vt_location *l) { vt_cursor_end(&l->write_cursor); }
static inline void vt_publish(struct vt_location *l, uint64_t *cursor) { vt_cursor_publish(&l->write_cursor, cursor); }

#endif
