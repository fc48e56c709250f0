/* SPDX-License-Identifier: BSD-3-Clause */
/* The schema of the structures of mpi_ends.h and matcher.h, see ../otf2_writer/schema.h. */
#include "../otf2_writer/schema.h"
#include "matcher.h"

/* clang-format off */
#define MPI_END(F, S)                                                                                                  \
    F(S, enter) F(S, leave) F(S, useful) F(S, node) F(S, call) F(S, peer) F(S, comm) F(S, tag) F(S, what)
#define PATH_TIME(F, S) F(S, ns) F(S, node) F(S, is_mpi)
#define LOCK(F, S)                                                                                                     \
    F(S, lock_enter) F(S, lock_leave) F(S, unlock_enter) F(S, unlock_leave) F(S, lock_node) F(S, unlock_node)          \
    F(S, window) F(S, target) F(S, is_exclusive) F(S, location)
#define COMMS(F, S)                                                                                                    \
    F(S, comm_ids) F(S, window_ids) F(S, group_ids) F(S, comm_rows) F(S, window_rows) F(S, group_rows) F(S, ncomm_ids) F(S, nwindow_ids) F(S, ngroup_ids) F(S, group_first) F(S, group_members) F(S, first)    \
    F(S, members) F(S, remote) F(S, is_self) F(S, ncomms) F(S, nwindows) F(S, nprocesses)
#define FINDER(F, S)                                                                                                   \
    F(S, comms) F(S, role_of) F(S, nregions) F(S, want_times) F(S, process) F(S, idle_times) F(S, asleep) F(S, waited) F(S, nidle) F(S, ends) F(S, times) F(S, locks)         \
    F(S, nends) F(S, ntimes) F(S, nlocks) F(S, events) F(S, first) F(S, last) F(S, useful) F(S, flushed) F(S, calls) F(S, naps) F(S, nnaps) F(S, between_polls) F(S, ends_widths) F(S, times_widths)
#define PLACE(F, S) F(S, file) F(S, ends) F(S, ends_widths) F(S, offset) F(S, begin) F(S, count) F(S, joined) F(S, last) F(S, useful) F(S, in_window) F(S, ideal) F(S, times) F(S, times_widths) F(S, times_offset) F(S, times_begin) F(S, ntimes) F(S, start) F(S, first) F(S, modelled) F(S, process) F(S, wanted)
#define WAIT(F, S)                                                                                                     \
    F(S, ns) F(S, count) F(S, kind) F(S, node) F(S, location) F(S, partner) F(S, partner_node) F(S, spare)
#define CALL_WAIT(F, S) F(S, begin) F(S, end) F(S, ns) F(S, location) F(S, kind) F(S, node) F(S, partner)
#define SHARE(F, S) F(S, ns) F(S, node) F(S, location)
#define DELAY(F, S)                                                                                                    \
    F(S, direct) F(S, indirect) F(S, excess) F(S, count) F(S, location) F(S, node) F(S, kind) F(S, waiting_node)
#define MATCHER(F, S)                                                                                                  \
    F(S, comms) F(S, places) F(S, nplaces) F(S, from) F(S, to) F(S, want_causes) F(S, log_file) F(S, nnodes) F(S, faster) F(S, saved) F(S, want_calls) F(S, calls_max) F(S, waits) \
    F(S, calls) F(S, critical) F(S, delays) F(S, totals) F(S, nwaits) F(S, ncalls) F(S, ncritical) F(S, ndelays) F(S, jumps) F(S, length) F(S, shortest) F(S, messages) F(S, collectives) F(S, unmatched_sends)        \
    F(S, unmatched_receives) F(S, unmatched_collectives) F(S, released) F(S, crossing) F(S, reversed) F(S, most)
#define STRUCTURES(X)                                                                                                  \
    X(vt_mpi_end, MPI_END) X(vt_path_time, PATH_TIME) X(vt_lock_epoch, LOCK) X(vt_mpi_comms, COMMS) X(vt_mpi_finder, FINDER)                  \
    X(vt_location_ends, PLACE) X(vt_wait, WAIT) X(vt_call_wait, CALL_WAIT) X(vt_path_share, SHARE) X(vt_delay, DELAY) X(vt_matcher, MATCHER)
/* clang-format on */

static const struct vt_schema_number numbers[] = {
#define KIND(name) {"vt_wait_kind", #name, VT_WAIT_##name},
    VT_WAIT_KINDS(KIND)
#undef KIND
#define ROLE(name, number) {"vt_call_role", #name, number},
        VT_ROLE_KINDS(ROLE)
#undef ROLE
            {"vt_call_kind", "COLLECTIVE_OF_ALL", VT_CALL_COLLECTIVE | VT_CALL_ALL << 4},
};

VT_SCHEMA(vt_waits_schema, STRUCTURES, numbers)
