/* SPDX-License-Identifier: BSD-3-Clause */
/* Replays the ends of mpi_ends.h in a possible order, as a Kahn network: a process proceeds until the process must wait
   for another one. The replay matches sends with receives (the n-th send of a channel with the n-th posted receive) and
   the calls of a collective (the n-th of each process on a communicator), and measures the waits of processes for each
   other. The replay also computes when each location would end if transfers took no time.

   A wait state is a part of an MPI call. The time of a call counts once: all parts start with the call, and the part
   that ends last counts; of mpi_latereceiver, an upper bound, only the time after this part counts. */
#ifndef VT_MATCHER_H
#define VT_MATCHER_H

#include "mpi_ends.h"

/* The ends of a location, in memory or in a file. A part of a run may be replayed alone: for each location the ends from
   a collective of all processes, which the part before replays, too, to such a collective. */
struct vt_location_ends {
    uint64_t file; /* descriptor */
    uint64_t ends, ends_widths; /* address of packed ends (packed.h); 0: in the file */
    uint64_t offset, begin, count; /* begin: the first end to replay; the last one is before count */
    uint64_t joined; /* address of uint32_t[]: for each call path of the location its number in the whole trace */
    int64_t last, useful; /* the time of the location's end; its useful time (outside of MPI); ns */
    int64_t in_window; /* result: the useful time between from and to, ns */
    int64_t ideal; /* result: in_window plus the waits that remain if transfers took no time, ns */
    uint64_t times, times_widths; /* with want_causes or faster: address of packed times; 0: in the file */
    uint64_t times_offset, times_begin, ntimes; /* times_begin: the first time of the part */
    int64_t start; /* waits in calls that start earlier are not results: they belong to the part before */
    int64_t first, modelled; /* modelled: result: the location's end in the modelled run */
    uint32_t process, wanted; /* wanted: 1 if the location's waits are results */
};

/* A sum of waits. */
struct vt_wait {
    int64_t ns;
    uint64_t count;
    uint32_t kind, node, location, partner, partner_node, spare; /* nodes: as in joined; VT_NONE: unknown */
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

/* The costs of a call path's excess time: direct, the partners' waits; indirect, the waits that these caused. */
struct vt_delay {
    double direct, indirect; /* ns */
    int64_t excess; /* the time by which the path was longer than at the partner since the two met last, ns */
    uint64_t count; /* waits */
    uint32_t location, node, kind, waiting_node;
};

struct vt_matcher {
    const struct vt_mpi_comms *comms;
    struct vt_location_ends *places; /* by row of locations */
    uint64_t nplaces;
    int64_t from, to; /* the parts of waits between these times count */
    uint64_t want_causes, log_file, nnodes; /* want_causes: needs times of call paths and log_file, a file for waits */
    const uint8_t *faster; /* 1 for call paths whose time outside of MPI is shorter; NULL: none */
    double saved; /* the part of this time that is saved, 0 to 1 */
    uint64_t want_calls, calls_max; /* with more calls than calls_max, the shortest are left out */
    struct vt_wait *waits; /* results from this field on; vt_match_free frees the arrays */
    struct vt_call_wait *calls;
    struct vt_path_share *critical;
    struct vt_delay *delays;
    int64_t *totals; /* ns of each call path outside of waits, on all wanted locations */
    uint64_t nwaits, ncalls, ncritical, ndelays, jumps; /* jumps: how often the critical path changes the location */
    int64_t length; /* of the critical path, ns */
    int64_t shortest; /* shorter waits are left out of calls; 0: none is left out */
    uint64_t messages, collectives; /* matched receives; calls of collectives */
    uint64_t unmatched_sends, unmatched_receives, unmatched_collectives;
    uint64_t released; /* calls that stopped waiting for partners without the awaited call */
    uint64_t crossing; /* the part needs calls of the part before */
    uint64_t reversed; /* messages received before they were sent: clocks are wrong, or pairs are wrong */
    int64_t most; /* the largest such difference, ns */
};

enum { VT_MATCH_OK, VT_MATCH_NO_MEMORY, VT_MATCH_NO_FILE };

/* Reads ends of a location, from number `first` on. Returns VT_MATCH_OK or VT_MATCH_NO_FILE. */
VT_EXPORT int vt_ends_read(const struct vt_location_ends *place, uint64_t first, uint64_t n, struct vt_mpi_end *to);
/* Returns VT_MATCH_OK, VT_MATCH_NO_MEMORY, or VT_MATCH_NO_FILE if the file cannot be read. */
VT_EXPORT int vt_match(struct vt_matcher *m);
VT_EXPORT void vt_match_free(struct vt_matcher *m);

#endif
