/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages and collectives must not run backwards. ends.c finds their ends in the records of a process and writes the
   ends to a file; repair.c replays the ends in an order in which they can have happened and finds by how much each
   clock must be put forward. The repair compares clocks, not locations: locations that share a clock are in order
   already. */
#ifndef VT_REPAIR_H
#define VT_REPAIR_H

#include "times.h"
#include "transcode.h"

/* Kinds of ends. RECEIVE: of a blocking call; POST and DONE: start and end of a receive; BEGIN and END of a
   collective. */
enum vt_end_kind { VT_END_NONE, VT_END_SEND, VT_END_RECEIVE, VT_END_POST, VT_END_DONE, VT_END_BEGIN, VT_END_END };

/* The order in which processes of a collective wait for each other. */
enum vt_end_flow {
    VT_FLOW_NONE,
    VT_FLOW_ALL,
    VT_FLOW_FROM_ROOT,
    VT_FLOW_TO_ROOT,
    VT_FLOW_PREFIX, /* each rank for all lower ranks */
};

#define VT_END_BYTES_MAX ((1u << 28) - 1)
#define VT_END_FLOW 7u /* in tag of BEGIN: enum vt_end_flow */
#define VT_END_GIVES 8u /* the process gives something to the others */
#define VT_END_TAKES 16u /* the process takes something from the others */
#define VT_END_ASIDE 32u /* non-blocking */

struct vt_end {
    uint64_t ns, request; /* request: joins POST with DONE, BEGIN with END; in a blocking BEGIN: ns of its END, or 0 */
    uint32_t comm, peer, tag; /* peer: process; in BEGIN and END the root or VT_UNMAPPED, in a prefix the own rank; tag
                                 in BEGIN and END: flow, flags, op << 8 */
    uint32_t what; /* enum vt_end_kind, bytes << 4 */
};

/* The processes of a run, by their number in the archive, and the communicators of the run; after these the windows of
   one-sided communication, each with the members of its communicator. */
struct vt_parts {
    const uint32_t *clocks; /* clock of each process; VT_UNMAPPED: the process has no files */
    const uint8_t *doubtful; /* for each process: 1 if ends may be missing */
    const uint32_t *comm_first,
        *comm_members; /* first member of each communicator; process of each member, ascending by rank */
    const uint8_t *comm_repaired; /* 1: collectives of the communicator count, 2: the communicator has a topology */
    uint64_t nprocesses, ncomms, nmembers, nclocks; /* ncomms: windows included */
    uint64_t first_window; /* number of communicators */
    uint64_t limit; /* the most ns by which a doubtful end may move a clock */
};

/* A part of the file with ends of one location, in the order of time. */
struct vt_piece {
    uint64_t offset;
    uint32_t process, location, count, file; /* file: descriptor, in vt_kernel_repair */
};

struct vt_ends {
    uint64_t *top; /* end of the file; shared by all calls */
    struct vt_piece *pieces; /* vt_kernel_ends_free frees them */
    uint64_t npieces;
    int32_t file, process;
};

/* Writes the ends of all locations of a process. user_peers of maps: processes, not ranks, for all streams in order.
   which: the stream with an error. VT_NO_SPACE: the file cannot be written. */
VT_EXPORT int vt_kernel_ends(const struct vt_stream *streams, uint32_t count, const struct vt_maps *maps,
                             const struct vt_parts *parts, struct vt_ends *ends, uint32_t *which,
                             struct vt_error *error);
VT_EXPORT void vt_kernel_ends_free(struct vt_ends *ends);

/* From ns on, a clock is put forward by `shift`, which then decreases as in vt_times_shift. */
struct vt_knot {
    uint64_t ns, shift;
};

struct vt_repaired {
    uint64_t messages, reversed_messages, collectives, reversed_collectives; /* between clocks; collectives: calls */
    uint64_t most, largest; /* largest ns by which a message or collective ran backwards, and by which a clock is put
                               forward */
    uint64_t ignored, left; /* ends without a partner or impossible; messages and collectives that may still run
                               backwards */
    struct vt_knot *knots; /* knots of all clocks, one after the other; vt_kernel_repair_free frees knots and first */
    uint64_t *first; /* nclocks + 1: first knot of each clock */
};

/* pieces: of all processes; those of one location in order. VT_NO_SPACE: the files cannot be read. */
VT_EXPORT int vt_kernel_repair(const struct vt_parts *parts, const struct vt_piece *pieces, uint64_t npieces,
                               struct vt_repaired *result);
VT_EXPORT void vt_kernel_repair_free(struct vt_repaired *result);

#endif
