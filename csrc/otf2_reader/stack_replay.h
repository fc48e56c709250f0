/* SPDX-License-Identifier: BSD-3-Clause */
/* Follows the stack of a location through its batches: the times of each region and call path, and the calls in which
   events happened. */
#ifndef VT_STACK_REPLAY_H
#define VT_STACK_REPLAY_H

#include "readback.h"

/* ---- checkpoints.c ---- */

/* Checkpoints of a location: the stack of open calls before some of its events. A replay can start at a checkpoint,
   without the earlier events. */

#define VT_CHECKPOINT_EVENTS 4096u /* least number of events between two checkpoints */
#define VT_CHECKPOINT_BLOCK 64u /* checkpoints in a block; a block needs no other block */

/* An open call. Times in ns. */
struct vt_checkpoint_call {
    int64_t enter, inside, flushed; /* inside: time of the calls made from this call so far; flushed: time of flushes */
    uint64_t number; /* number of its Enter among the location's events, from 1 */
    uint32_t region, node; /* node: its call path */
};

/* The moment before an event. */
struct vt_checkpoint {
    uint64_t number; /* number of the event, from 1 */
    int64_t time; /* time of the previous event, ns */
    uint32_t depth; /* open calls */
    uint32_t common; /* outermost calls that equal those of the previous checkpoint; 0 at the start of a block */
};

/* Checkpoints of a location so far. calls: the depth - common innermost calls of each checkpoint. */
struct vt_checkpoints {
    struct vt_checkpoint *list;
    struct vt_checkpoint_call *calls;
    uint64_t count, ncalls;
    uint64_t next, taken; /* the next checkpoint is before this event or a later one; total of checkpoints so far */
    uint64_t list_room, calls_room;
    struct vt_checkpoint_call *last; /* the stack of the last checkpoint */
    uint64_t last_depth, last_room;
};

struct vt_checkpoints *vt_checkpoints_new(void);
void vt_checkpoints_free(struct vt_checkpoints *c);
/* Begins a new location. */
void vt_checkpoints_begin(struct vt_checkpoints *c);
/* Adds a checkpoint. Returns 0 if there is no memory. */
int vt_checkpoints_take(struct vt_checkpoints *c, uint64_t number, int64_t time, const struct vt_checkpoint_call *stack,
                        uint64_t depth);

/* ---- stack_replay.c ---- */

/* The calls of a region or a call path. Times in ns. */
struct vt_stats {
    uint64_t calls;
    int64_t inclusive; /* time of outermost calls only: at most the elapsed time */
    int64_t exclusive;
    int64_t total; /* time of all calls, including calls inside another call of the same region */
    int64_t min, max;
    uint64_t squares[2]; /* sum of the squares of all calls' times, exactly: low half, high half */
    uint64_t joined; /* calls without an Enter and Leave of their own: failing polls in a row */
    double deviations; /* sum of the squares of the differences from their mean; set by vt_replay_end */
};

/* A call path: the root has number 0 and no region. A parent's number is smaller. */
struct vt_path {
    uint32_t parent, region;
};

/* The calls of a call path in a part of the time. Times in ns. calls, joined, min and max: of the calls that begin and
   end in the part; the others: of all calls, as far as they are in the part. */
struct vt_path_part {
    uint64_t calls, joined;
    int64_t inclusive, exclusive, total, min, max;
    uint32_t path, part; /* part: the number of borders before it */
};

/* A call that began before the last border before its end. */
struct vt_crossing {
    int64_t begin, end;
    uint32_t path, calls; /* calls: as of vt_slice */
};

/* The role of a region in a report of call sites. Only calls between the end of the first VT_SITE_BEGIN and the start
   of the first VT_SITE_END count; without these, from the start or to the end of the location. */
#define VT_SITE_KINDS(X) X(NONE, 0) X(CALL, 1) X(BEGIN, 2) X(END, 3)
enum vt_site_kind {
#define VT_SITE_ENUM(name, number) VT_SITE_##name = number,
    VT_SITE_KINDS(VT_SITE_ENUM)
#undef VT_SITE_ENUM
};
#define VT_SITE_NAMED 0x80000000u /* region of a path whose other bits are the value of the attribute */

/* A call that has ended. */
struct vt_slice {
    int64_t begin, end;
    uint32_t region, depth; /* 0: outermost */
    uint32_t path; /* call path; 0 without want_paths */
    uint32_t calls; /* 1; more: failing polls in a row, which the archive has as one call */
};

/* Further values of a call that has ended. */
struct vt_slice_detail {
    int64_t exclusive;
    uint64_t number; /* number of its Enter among the location's events, from 1 */
};

/* An interval in which the innermost call does not change. A span begins at the end of the previous span. */
struct vt_span {
    int64_t end;
    uint32_t region; /* VT_NONE: outside all calls */
    uint16_t depth; /* open calls, at most UINT16_MAX */
    uint16_t class; /* class of the call; 0 outside */
};

#define VT_MARK_RUNTIME 4 /* bit of mark_of: calls inside a call of the region are a library's internal work */

/* The first part selects the results; set it before vt_replay_begin. Regions have numbers below nregions; the last
   number stands for unknown regions. */
struct vt_replay {
    int64_t from, to; /* only times between these count */
    uint64_t nregions;
    uint64_t want_stats; /* statistics of the calls of each region */
    uint64_t want_path_stats; /* the same for each call path; needs want_paths or site_of */
    uint64_t want_paths, paths_max; /* beyond paths_max a call belongs to its caller's path */
    uint64_t want_slices; /* calls of at least shortest ns */
    int64_t shortest;
    const uint8_t *slice_of; /* 1: regions whose calls become slices; NULL: all */
    uint64_t want_slice_details;
    uint64_t want_checkpoints; /* set before the first location */
    uint64_t want_spans; /* spans of each batch, up to its last event; needs class_of */
    uint64_t want_nodes; /* call paths of each batch's events; needs want_paths */
    const uint8_t *site_of; /* enum vt_site_kind of each region; NULL: no call sites. Else paths are flat: a call is */
    uint64_t site_attribute; /* below the value of this attribute, or below its caller's region */
    int64_t begun, ended; /* calls between these times count; INT64_MIN, INT64_MAX: the whole location */
    const int64_t *borders; /* rising times that divide the time into parts, for sums of call paths of the whole */
    uint64_t nborders; /* location; 0: no parts */
    uint64_t from_border; /* the location counts from the first border on: calls that are open there begin there */
    const uint32_t *node_of; /* the call path of each event of the next batch, VT_NONE: from the stack; NULL: all from
                                the stack */
    const uint8_t *mark_of; /* bits of each region, for the details of events in its calls; NULL: none */
    uint64_t bins, classes; /* 0: none; times of classes x bins between from and to */
    const uint8_t *class_of; /* class of each region */
    const uint8_t *runtime_of; /* 1: calls of a region inside calls with the mark VT_MARK_RUNTIME are a library's
                                  internal work; NULL: none */
    uint64_t runtime_class; /* the class of these calls */
    double *line; /* [classes + 1][bins] ns; the last class: outside all regions */
    uint64_t flush_region; /* second to last region, stands for each BufferFlush event; VT_NONE: ignores these events */
    struct vt_stats *regions; /* from here on: results of the location since vt_replay_begin */
    struct vt_stats *path_stats;
    struct vt_path *paths;
    uint32_t *touched, *touched_paths; /* the regions and paths that have calls */
    struct vt_path_part *parts; /* of the parts that have ended, in place of path_stats */
    struct vt_crossing *crossings;
    struct vt_slice *slices; /* slices of the last batch */
    struct vt_slice_detail *slice_details; /* details of the same calls */
    struct vt_checkpoints *checkpoints; /* checkpoints of the location, until vt_replay_drop_checkpoints */
    struct vt_checkpoint_call *stack; /* the calls that are open now, the outermost first */
    struct vt_span *spans; /* spans of the last batch, or of the location's end */
    uint32_t *nodes; /* after each event of the last batch: the path of the innermost call, 0 outside all calls */
    uint64_t ntouched, ntouched_paths, npaths, nparts, ncrossings, nslices, nspans, depth;
    uint64_t stray; /* leaves without an enter, ignored */
    uint64_t closed; /* regions that were open at the end */
    int64_t first, last; /* times of the first and last event */
    uint64_t events, deepest; /* deepest: depth of the stack */
    int64_t runtime; /* ns of runtime_of's calls, without the calls made from them */
};

VT_EXPORT struct vt_replay *vt_replay_new(uint64_t nregions, uint64_t want_paths);
VT_EXPORT void vt_replay_free(struct vt_replay *r);
/* Adds n call paths with the numbers 1 to n to a new replay: those of an archive's calling contexts, parents first.
   Returns VT_READ_OK or VT_READ_NO_MEMORY. */
VT_EXPORT int vt_replay_add_paths(struct vt_replay *r, const struct vt_path *paths, uint64_t n);
/* Begins a new location: forgets all results but the paths. */
VT_EXPORT void vt_replay_begin(struct vt_replay *r);
/* Starts in a location before its event `number`, at `time`, with these calls open, the outermost first. Returns
   VT_READ_OK or VT_READ_NO_MEMORY. */
VT_EXPORT int vt_replay_resume(struct vt_replay *r, uint64_t number, int64_t time,
                               const struct vt_checkpoint_call *calls, uint64_t n);
/* Forgets the first n checkpoints, which have ncalls calls. */
VT_EXPORT void vt_replay_drop_checkpoints(struct vt_replay *r, uint64_t n, uint64_t ncalls);
/* Also fills region, caller and node of the batch's details. Returns VT_READ_OK or VT_READ_NO_MEMORY. */
VT_EXPORT int vt_replay_batch(struct vt_replay *r, struct vt_batch *b);
/* Ends a flush that ends before ns, after the last event before ns. Returns VT_READ_OK or VT_READ_NO_MEMORY. */
VT_EXPORT int vt_replay_until(struct vt_replay *r, int64_t ns);
/* Ends the parts up to all borders that are not after ns, after the last event before ns. Returns VT_READ_OK or
   VT_READ_NO_MEMORY. */
VT_EXPORT int vt_replay_cut(struct vt_replay *r, int64_t ns);
/* Ends the location at ns: calls that are still open end at ns. */
VT_EXPORT int vt_replay_end(struct vt_replay *r, int64_t ns);

#endif
