/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages and collectives must not run backwards. ends.c finds their ends in the records of a process and leaves them in
   a file; repair.c replays them in the order in which they can have happened and says by how much each clock must be put
   forward. Clocks are compared, not locations: what shares a clock is in order already. */
#ifndef VT_REPAIR_H
#define VT_REPAIR_H

#include "times.h"
#include "transcode.h"

/* Of an end. RECEIVE: of a blocking call; POST and DONE: where a receive begins and ends; BEGIN and END of a collective. */
enum vt_end_kind { VT_END_NONE, VT_END_SEND, VT_END_RECEIVE, VT_END_POST, VT_END_DONE, VT_END_BEGIN, VT_END_END };

/* Who waits for whom in a collective. */
enum vt_end_flow {
    VT_FLOW_NONE,
    VT_FLOW_ALL,
    VT_FLOW_FROM_ROOT,
    VT_FLOW_TO_ROOT,
    VT_FLOW_PREFIX, /* for all of lower ranks */
};

#define VT_END_BYTES_MAX ((1u << 28) - 1)
#define VT_END_FLOW 7u /* in tag of BEGIN: enum vt_end_flow */
#define VT_END_GIVES 8u /* the process gives something to the others */
#define VT_END_TAKES 16u /* and takes something from them */
#define VT_END_ASIDE 32u /* non-blocking */

struct vt_end {
    uint64_t ns, request; /* request: joins POST with DONE, BEGIN with END; of a blocking BEGIN: ns of its END, or 0 */
    uint32_t comm, peer, tag; /* peer: process; of BEGIN and END the root or VT_UNMAPPED, of a prefix the own rank;
                                 tag of BEGIN and END: flow, flags, op << 8 */
    uint32_t what; /* enum vt_end_kind, bytes << 4 */
};

/* The processes of a run, by their number in the archive, and its communicators; behind these its windows of one-sided
   communication, each with the members of its communicator. */
struct vt_parts {
    const uint32_t *clocks; /* of each process; VT_UNMAPPED: there is nothing of it */
    const uint8_t *doubtful; /* of each process: it may lack ends */
    const uint32_t *comm_first,
        *comm_members; /* where a communicator's members begin; process of each, ascending by rank */
    const uint8_t *comm_repaired; /* 1: its collectives count, 2: it has a topology */
    uint64_t nprocesses, ncomms, nmembers, nclocks; /* ncomms: with windows */
    uint64_t first_window; /* number of communicators */
    uint64_t limit; /* ns that a doubtful end may move a clock by */
};

/* Where a location's ends lie in the file, in the order of time. */
struct vt_piece {
    uint64_t offset;
    uint32_t process, location, count, file; /* file: descriptor, in vt_kernel_repair */
};

struct vt_ends {
    uint64_t *top; /* of the file; shared by all calls */
    struct vt_piece *pieces; /* vt_kernel_ends_free gives them back */
    uint64_t npieces;
    int32_t file, process;
};

/* The ends of all locations of a process. user_peers of maps: not ranks but processes, of all streams in their order.
   which: the stream where an error is; VT_NO_SPACE: the file cannot be written. */
VT_EXPORT int vt_kernel_ends(const struct vt_stream *streams, uint32_t count, const struct vt_maps *maps,
                             const struct vt_parts *parts, struct vt_ends *ends, uint32_t *which,
                             struct vt_error *error);
VT_EXPORT void vt_kernel_ends_free(struct vt_ends *ends);

/* By how much a clock is put forward: from ns on by shift, which then falls as vt_times_shift says. */
struct vt_knot {
    uint64_t ns, shift;
};

struct vt_repaired {
    uint64_t messages, reversed_messages, collectives, reversed_collectives; /* between clocks; collectives: calls */
    uint64_t most, largest; /* ns by which one ran backwards at most, by which a clock is put forward at most */
    uint64_t ignored, left; /* ends without partner, or not believed; what still runs backwards */
    struct vt_knot *knots; /* of all clocks, one after the other; vt_kernel_repair_free gives them and first back */
    uint64_t *first; /* nclocks + 1: where those of each clock begin */
};

/* pieces: those of all processes, of each location in order. VT_NO_SPACE: the files cannot be read. */
VT_EXPORT int vt_kernel_repair(const struct vt_parts *parts, const struct vt_piece *pieces, uint64_t npieces,
                               struct vt_repaired *result);
VT_EXPORT void vt_kernel_repair_free(struct vt_repaired *result);

#endif
