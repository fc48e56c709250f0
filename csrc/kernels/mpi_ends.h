/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the ends of messages and collectives in the batches of one location, each with its enclosing MPI call, for
   matcher.c. An end is one side of a message or one member's part of a collective. Receives match in the order of their
   posts, but the sender is known only at the completion: a receive's end has the place of the post, and gets its values
   at the completion. All ends of a location stay in memory until the location's last event.

   Calls in a row that poll (MPI_Test) are one call, with the short time between them, or a longer one in which the
   thread sleeps: the program waits for the end that the last one finds. */
#ifndef VT_MPI_ENDS_H
#define VT_MPI_ENDS_H

#include "../otf2_reader/stack_replay.h"

/* RECEIVE and COLLECTIVE: blocking; POST and DONE: start and completion of a nonblocking receive; BEGIN and END: the
   same of a nonblocking collective; SENT: the completion of a nonblocking send. */
enum vt_call_kind {
    VT_CALL_NONE,
    VT_CALL_SEND,
    VT_CALL_SENT,
    VT_CALL_RECEIVE,
    VT_CALL_POST,
    VT_CALL_DONE,
    VT_CALL_COLLECTIVE,
    VT_CALL_BEGIN,
    VT_CALL_END,
};

/* The direction of a collective: ranks that wait, and ranks that the waiting ranks need. */
enum vt_call_flow { VT_CALL_NO_FLOW, VT_CALL_ALL, VT_CALL_FROM_ROOT, VT_CALL_TO_ROOT, VT_CALL_PREFIX };

#define VT_CALL_KIND 15u /* the bits of `what` with an enum vt_call_kind */
#define VT_CALL_FLOW(what) ((what) >> 4 & 7u)
#define VT_CALL_ASIDE 128u /* a nonblocking collective */
#define VT_CALL_BLOCKS 256u /* a send that may wait for the receiver */
#define VT_CALL_COMPLETES 512u /* a send with a separate end SENT */
#define VT_CALL_WAIT(what) ((what) >> 16) /* of a collective or a receive: enum vt_wait_kind */

/* True for an end that refers to an earlier one by its tag. */
static inline int vt_end_is_second(uint32_t what)
{
    const uint32_t kind = what & VT_CALL_KIND;
    return kind == VT_CALL_SENT || kind == VT_CALL_DONE || kind == VT_CALL_END;
}

struct vt_mpi_end {
    int64_t enter, leave; /* of the outermost MPI call */
    int64_t useful; /* ns outside of MPI from the start of the location to the call */
    uint32_t node; /* call path of the call */
    uint32_t call; /* number of the call; with want_times the call's place in times */
    uint32_t peer; /* the partner's or root's process; for a prefix the caller's rank in the communicator; or VT_NONE */
    uint32_t comm; /* row among communicators, then windows, then all processes (for MPI_Finalize) */
    uint32_t tag; /* for SENT, DONE and END: the place of the SEND, POST or BEGIN among the location's ends */
    uint32_t what;
};

/* The exclusive time of a call path between two MPI calls, or the time of an MPI call. */
struct vt_path_time {
    int64_t ns;
    uint32_t node, is_mpi;
};

/* A lock of a window: the calls that request and release the lock, each with start and end in ns. */
struct vt_lock_epoch {
    int64_t lock_enter, lock_leave, unlock_enter, unlock_leave; /* unlock_enter: INT64_MAX if never released */
    uint32_t lock_node, unlock_node; /* call paths */
    uint32_t window, target; /* rows of the window and of a process; target: VT_NONE for all (MPI_Win_lock_all) */
    uint32_t is_exclusive;
    uint32_t location; /* row, for joining the locks of all locations */
};

/* Kinds of wait states, with Scalasca's unique names; X(name). */
#define VT_WAIT_KINDS(X)                                                                                               \
    X(mpi_latesender)                                                                                                  \
    X(mpi_latesender_wo)                                                                                               \
    X(mpi_latereceiver)                                                                                                \
    X(mpi_barrier_wait)                                                                                                \
    X(mpi_barrier_completion)                                                                                          \
    X(mpi_wait_nxn)                                                                                                    \
    X(mpi_nxn_completion)                                                                                              \
    X(mpi_latebroadcast)                                                                                               \
    X(mpi_earlyreduce)                                                                                                 \
    X(mpi_earlyscan)                                                                                                   \
    X(mpi_finalize_wait)                                                                                               \
    X(mpi_rma_wait_at_fence)                                                                                           \
    X(mpi_rma_wait_at_create)                                                                                          \
    X(mpi_rma_wait_at_free)                                                                                            \
    X(mpi_rma_late_post)                                                                                               \
    X(mpi_rma_early_wait)                                                                                              \
    X(mpi_rma_lock_competition)
enum vt_wait_kind {
#define VT_WAIT_NUMBER(name) VT_WAIT_##name,
    VT_WAIT_KINDS(VT_WAIT_NUMBER)
#undef VT_WAIT_NUMBER
        VT_WAIT_ALL_KINDS
};

/* Roles of regions, as bits. */
#define VT_ROLE_KINDS(X)                                                                                               \
    X(MPI, 1)                                                                                                          \
    X(NEIGHBOURS, 2) X(FINALIZE, 4) X(POST, 8) X(START, 16) X(COMPLETE, 32) X(WAIT, 64) X(PROBE, 128) X(POLL, 256)
enum vt_call_role {
#define VT_ROLE_NUMBER(name, number) VT_ROLE_##name = number,
    VT_ROLE_KINDS(VT_ROLE_NUMBER)
#undef VT_ROLE_NUMBER
};

/* Communicators, then windows with the members of their communicators, last an entry for all processes. Processes are
   rows; VT_NONE: undefined. */
struct vt_mpi_comms {
    const uint64_t *comm_ids, *window_ids, *group_ids; /* OTF2's ids, ascending */
    const int64_t *comm_rows, *window_rows, *group_rows; /* the row of each id */
    uint64_t ncomm_ids, nwindow_ids, ngroup_ids;
    const uint32_t *group_first, *group_members; /* members of the groups that synchronize windows */
    const uint32_t *first, *members; /* first: ncomms + nwindows + 2 indices into members */
    const uint32_t *remote; /* end of the first group of an inter-communicator in members; else first[i + 1] */
    const uint8_t *is_self;
    uint64_t ncomms, nwindows, nprocesses;
};

struct vt_mpi_finder {
    const struct vt_mpi_comms *comms;
    const uint16_t *role_of; /* the roles of each region */
    uint64_t nregions;
    uint64_t want_times;
    uint64_t process; /* row */
    /* At ascending times, the ns that the location has slept until then, and waited for a processor. nidle 0: unknown. */
    const double *idle_times, *asleep, *waited;
    uint64_t nidle;
    struct vt_mpi_end *ends; /* results from this field on, since vt_mpi_ends_begin */
    struct vt_path_time *times;
    struct vt_lock_epoch *locks;
    uint64_t nends, ntimes, nlocks, events;
    int64_t first, last, useful, flushed; /* flushed: ns in which buffers were written outside of MPI */
    uint64_t calls; /* the number of MPI calls */
    int64_t *naps; /* (nnaps,) ns of sleep and the like between polls in a row, by call path */
    uint64_t nnaps;
    int64_t between_polls; /* ns between polls that are no row; they may be one, if sleep is unknown */
    uint64_t ends_widths, times_widths; /* for packed.h; set by vt_mpi_ends_end */
};

/* Writes the schema of the structures of this header and of matcher.h, as vt_kernel_schema does. */
VT_EXPORT size_t vt_waits_schema(char *text, size_t room);
VT_EXPORT struct vt_mpi_finder *vt_mpi_ends_new(void);
VT_EXPORT void vt_mpi_ends_free(struct vt_mpi_finder *f);
/* Begins a location. */
VT_EXPORT void vt_mpi_ends_begin(struct vt_mpi_finder *f);
/* Adds a batch. replay: has followed the batch, with nodes. Returns VT_READ_OK or VT_READ_NO_MEMORY. */
VT_EXPORT int vt_mpi_ends_batch(struct vt_mpi_finder *f, const struct vt_replay *replay, const struct vt_batch *batch);
/* Ends the location at time `ns`. */
VT_EXPORT int vt_mpi_ends_end(struct vt_mpi_finder *f, int64_t ns);

#endif
