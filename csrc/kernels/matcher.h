/* SPDX-License-Identifier: BSD-3-Clause */
/* Replays the ends of mpi_ends.h in an order in which they can have happened, as a Kahn network: a process goes on until
   it must wait for another one. The replay matches sends with receives (the n-th send of a channel with the n-th
   receive that was posted) and the calls of a collective (the n-th of each process on a communicator), and measures who
   waits for whom. It also finds the time at which each location would end if transfers took no time.

   A wait state is a part of an MPI call. The times of one call count once: the parts begin with the call, the one that
   ends last counts, then mpi_latereceiver with what goes beyond it, since that is an upper bound. */
#ifndef VT_MATCHER_H
#define VT_MATCHER_H

#include "mpi_ends.h"

/* The ends of a location, in memory or in a file. */
struct vt_location_ends {
    uint64_t file; /* descriptor */
    uint64_t ends; /* address of struct vt_mpi_end[]; 0: in the file */
    uint64_t offset, count;
    uint64_t joined; /* address of uint32_t[]: the number that all locations share of each call path */
    int64_t last, useful; /* ns of the end of the location; outside of MPI */
    int64_t in_window; /* result: the useful time between from and to */
    int64_t ideal; /* result: the ns that this time and its waits took, if transfers took no time */
    uint64_t times_offset, ntimes; /* with want_causes or faster: the location's times in the file */
    int64_t first, modelled; /* modelled: result: ns of its end, if the faster call paths were faster */
    uint32_t process, wanted; /* wanted: the waits of the location are results */
};

/* A sum of waits. */
struct vt_wait {
    int64_t ns;
    uint64_t count;
    uint32_t kind, node, location, partner, partner_node, spare; /* nodes: joined; VT_NONE: unknown */
};

/* The wait of one call. */
struct vt_call_wait {
    int64_t begin, end, ns; /* begin, end: of the call */
    uint32_t location, kind, node, partner;
};

/* The time of a call path on the critical path. */
struct vt_path_share {
    int64_t ns;
    uint32_t node, location;
};

/* The costs of a call path's excess time: waits of its partners, and those that these waits caused. */
struct vt_delay {
    double direct, indirect; /* ns */
    int64_t excess; /* ns more than the partner since the two met last */
    uint64_t count; /* waits */
    uint32_t location, node, kind, waiting_node;
};

struct vt_matcher {
    const struct vt_mpi_comms *comms;
    struct vt_location_ends *places; /* by row of locations */
    uint64_t nplaces;
    int64_t from, to; /* the parts of waits between these times count */
    uint64_t want_causes, log_file, nnodes; /* finds causes; needs the times of call paths, and a file for waits */
    const uint8_t *faster; /* 1 for call paths whose time outside of MPI is shorter; NULL: none */
    double saved; /* by this part, 0 to 1 */
    uint64_t want_calls, calls_max; /* beyond calls_max the shortest are left out */
    struct vt_wait *waits; /* results from here on; vt_match_free frees them */
    struct vt_call_wait *calls;
    struct vt_path_share *critical;
    struct vt_delay *delays;
    int64_t *totals; /* ns of each call path outside of waits, on all wanted locations */
    uint64_t nwaits, ncalls, ncritical, ndelays, jumps; /* jumps: of the critical path between locations */
    int64_t length; /* of the critical path */
    int64_t shortest; /* shorter waits are not among calls; 0: all are */
    uint64_t messages, collectives; /* matched receives; calls of collectives */
    uint64_t unmatched_sends, unmatched_receives, unmatched_collectives;
    uint64_t reversed; /* messages that were received before they were sent: of wrong clocks, or not the right pairs */
    int64_t most; /* ns by which one was */
};

enum { VT_MATCH_OK, VT_MATCH_NO_MEMORY, VT_MATCH_NO_FILE };

/* Returns VT_MATCH_OK, VT_MATCH_NO_MEMORY, or VT_MATCH_NO_FILE if the file cannot be read. */
VT_EXPORT int vt_match(struct vt_matcher *m);
VT_EXPORT void vt_match_free(struct vt_matcher *m);

#endif
