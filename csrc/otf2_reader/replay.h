/* SPDX-License-Identifier: BSD-3-Clause */
/* Following the stack of a location through its batches: what each region and call path took, and what was open when. */
#ifndef VT_REPLAY_H
#define VT_REPLAY_H

#include "readback.h"

/* Of a region or a call path. Times in ns. */
struct vt_stats {
    uint64_t calls;
    int64_t inclusive; /* outermost calls only: never more than the time that passed */
    int64_t exclusive;
    int64_t total; /* of all calls, those inside another call of the same region too */
    int64_t min, max;
    uint64_t squares[2]; /* sum of the squares of all calls' times, exactly: low half, high half */
    double deviations; /* sum of the squares of the differences from their mean; set by vt_replay_end */
};

/* A call path: the root has number 0 and no region. A parent's number is smaller. */
struct vt_path {
    uint32_t parent, region;
};

/* What a region is to a report of call sites. Only calls between the end of the first VT_SITE_BEGIN and the begin of the
   first VT_SITE_END count; without these, from and to the ends of the location. */
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
    uint32_t region, depth; /* 0: nothing around it */
};

#define VT_MARK_RUNTIME 4 /* bit of mark_of: calls of a library that works by itself inside them */

/* What to find out; set before vt_replay_begin. Regions have numbers below nregions, the last stands for unknown ones. */
struct vt_replay {
    int64_t from, to; /* only what lies between them counts */
    uint64_t nregions;
    uint64_t want_paths, paths_max; /* beyond paths_max a call belongs to the path around it */
    uint64_t want_slices; /* calls of at least shortest ns */
    int64_t shortest;
    const uint8_t *site_of; /* enum vt_site_kind of each region; NULL: no call sites. Else paths are flat: a call is */
    uint64_t site_attribute; /* below the value of this attribute, or below the region around it */
    int64_t begun, ended; /* between which calls count; INT64_MIN, INT64_MAX: the whole location */
    const uint8_t *mark_of; /* bits of each region, for the details of what happens in its calls; NULL: none */
    uint64_t bins, classes; /* 0: none; times of classes x bins between from and to */
    const uint8_t *class_of; /* of each region */
    const uint8_t *runtime_of; /* 1: calls of a region inside calls with the mark VT_MARK_RUNTIME are a library's own
                                  work; NULL: none */
    uint64_t runtime_class; /* the class of `line` that these belong to */
    double *line; /* [classes + 1][bins] ns; the last class: outside all regions */
    uint64_t flush_region; /* last but one, which stands for each BufferFlush event; VT_NONE: these are not looked at */
    struct vt_stats *regions; /* results from here on: of the location since vt_replay_begin */
    struct vt_stats *path_stats;
    struct vt_path *paths;
    uint32_t *touched, *touched_paths; /* which of them have calls */
    struct vt_slice *slices; /* of the last batch */
    uint64_t ntouched, ntouched_paths, npaths, nslices;
    uint64_t stray; /* leaves without an enter, left out */
    uint64_t closed; /* regions that were open at the end */
    int64_t first, last; /* event */
    uint64_t events, deepest; /* depth */
    int64_t runtime; /* ns of runtime_of's calls, without the calls made from them */
};

VT_EXPORT struct vt_replay *vt_replay_new(uint64_t nregions, uint64_t want_paths);
VT_EXPORT void vt_replay_free(struct vt_replay *r);
/* A new location: forgets all results but the paths. */
VT_EXPORT void vt_replay_begin(struct vt_replay *r);
/* Fills region, caller and node of the batch's details on the way. Returns VT_READ_OK or VT_READ_NO_MEMORY. */
VT_EXPORT int vt_replay_batch(struct vt_replay *r, struct vt_batch *b);
/* The end of the location, at ns: what is still open ends there. */
VT_EXPORT int vt_replay_end(struct vt_replay *r, int64_t ns);

#endif
