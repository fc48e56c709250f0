/* SPDX-License-Identifier: BSD-3-Clause */
/* The schema of the reader's structures, see ../otf2_writer/schema.h. */
#include "../otf2_writer/schema.h"
#include "stack_replay.h"

/* clang-format off */
#define DETAIL(F, S) F(S, row) F(S, kind) F(S, marks) F(S, ref) F(S, region) F(S, caller) F(S, node) F(S, words)
#define ATTRIBUTE(F, S) F(S, row) F(S, attribute) F(S, region) F(S, caller) F(S, node) F(S, type) F(S, value)
#define BATCH(F, S)                                                                                                    \
    F(S, time) F(S, ref) F(S, kind) F(S, details) F(S, attributes) F(S, count) F(S, ndetails) F(S, nattributes)        \
    F(S, details_max) F(S, attributes_max) F(S, capacity) F(S, from) F(S, to) F(S, clock_offset) F(S, resolution)      \
    F(S, want_attributes) F(S, calls_attribute) F(S, unknown) F(S, ended) F(S, early) F(S, last) F(S, skip)          \
    F(S, out_of_room) F(S, wanted) F(S, detailed)
#define TABLE(F, S) F(S, rows) F(S, count) F(S, capacity) F(S, width)
#define STATS(F, S)                                                                                                    \
    F(S, calls) F(S, inclusive) F(S, exclusive) F(S, total) F(S, min) F(S, max) F(S, squares) F(S, joined) F(S, deviations)
#define PATH(F, S) F(S, parent) F(S, region)
#define PATH_PART(F, S)                                                                                                \
    F(S, calls) F(S, joined) F(S, inclusive) F(S, exclusive) F(S, total) F(S, min) F(S, max) F(S, path) F(S, part)
#define CROSSING(F, S) F(S, begin) F(S, end) F(S, path) F(S, calls)
#define SLICE(F, S) F(S, begin) F(S, end) F(S, region) F(S, depth) F(S, path) F(S, calls)
#define SLICE_DETAIL(F, S) F(S, exclusive) F(S, number)
#define CHECKPOINT_CALL(F, S) F(S, enter) F(S, inside) F(S, flushed) F(S, number) F(S, region) F(S, node)
#define CHECKPOINT(F, S) F(S, number) F(S, time) F(S, depth) F(S, common)
#define CHECKPOINTS(F, S)                                                                                              \
    F(S, list) F(S, calls) F(S, count) F(S, ncalls) F(S, next) F(S, taken) F(S, list_room) F(S, calls_room)            \
    F(S, last) F(S, last_depth) F(S, last_room)
#define REPLAY(F, S)                                                                                                   \
    F(S, from) F(S, to) F(S, nregions) F(S, want_stats) F(S, want_path_stats) F(S, want_paths) F(S, paths_max)       \
    F(S, want_slices) F(S, shortest) F(S, slice_of) F(S, want_slice_details) F(S, want_checkpoints) F(S, want_spans) F(S, want_nodes) F(S, site_of) \
    F(S, site_attribute) F(S, begun) F(S, ended) F(S, borders) F(S, nborders) F(S, from_border) F(S, node_of) F(S, mark_of) F(S, bins) F(S, classes) F(S, class_of)                 \
    F(S, runtime_of) F(S, runtime_class) F(S, line) F(S, flush_region) F(S, regions) F(S, path_stats) F(S, paths)      \
    F(S, touched) F(S, touched_paths) F(S, parts) F(S, crossings) F(S, slices) F(S, slice_details) F(S, checkpoints) F(S, stack) F(S, spans) F(S, nodes) \
    F(S, ntouched) F(S, ntouched_paths) F(S, npaths) F(S, nparts) F(S, ncrossings) F(S, nslices) F(S, nspans) F(S, depth) \
    F(S, stray) F(S, closed) F(S, first) F(S, last) F(S, events) F(S, deepest) F(S, runtime)
#define STRUCTURES(X)                                                                                                  \
    X(vt_detail, DETAIL) X(vt_read_attribute, ATTRIBUTE) X(vt_batch, BATCH) X(vt_table, TABLE) X(vt_stats, STATS)      \
    X(vt_path, PATH) X(vt_path_part, PATH_PART) X(vt_crossing, CROSSING) X(vt_slice, SLICE) X(vt_slice_detail, SLICE_DETAIL) X(vt_checkpoint_call, CHECKPOINT_CALL)                  \
    X(vt_checkpoint, CHECKPOINT) X(vt_checkpoints, CHECKPOINTS) X(vt_replay, REPLAY)
/* clang-format on */

static const struct vt_schema_number numbers[] = {
#define SITE(name, number) {"vt_site_kind", #name, number},
    VT_SITE_KINDS(SITE)
#undef SITE
        {NULL, "SITE_NAMED", VT_SITE_NAMED},
    {NULL, "READ_LATEST", VT_READ_LATEST},
    {NULL, "CHECKPOINT_BLOCK", VT_CHECKPOINT_BLOCK},
};

VT_SCHEMA(vt_readback_schema, STRUCTURES, numbers)
