/* SPDX-License-Identifier: BSD-3-Clause */
/* Follows the MPI calls of a location, and keeps the ends of messages and collectives in them. */
#include "packed.h"
#include "../otf2_writer/containers.h"
#include <stdlib.h>
#include <string.h>

enum { OF_RECEIVE = 1, OF_COLLECTIVE, OF_SEND }; /* kinds of objects that have a request */

/* The time between two calls that poll is at most CLOSE times the time of the first one, or twice that and CLOSE_NS: a
   call may stand for many (csrc/core/polls.c), after which their gaps come. */
#define CLOSE 8
#define CLOSE_NS 20000
/* Or the thread sleeps for this part of it, without its waits for a processor, of which the short ones are unknown. */
#define ASLEEP 0.5

#define ROOT_SELF 0xfffffffeu /* OTF2_COLLECTIVE_ROOT_SELF */

struct ends_finder {
    struct vt_mpi_finder out; /* first: the part that Python sees */
    const struct vt_replay *replay; /* the replay whose paths call_of has */
    uint32_t *call_of; /* the outermost MPI call of each call path, 0: none */
    int64_t *time_of; /* ns of each call path since the last MPI call */
    uint32_t *touched; /* the call paths with times, in no order */
    uint64_t slept; /* place in idle_times of the latest search */
    uint64_t known, nodes_room, ntouched, ends_room, times_room, locks_room;
    uint64_t locking, unlocking; /* 1 + place of the lock that the open MPI call requests or releases; 0: none */
    struct vt_pair_table held; /* (window, target) -> 1 + place in locks */
    struct vt_pair_table requests; /* (request, kind) -> 1 + place in ends */
    uint32_t node, call; /* call path of the innermost call, and of its outermost MPI call */
    int64_t now, enter, entered_useful, flush_stop;
    uint64_t first_end; /* of the open MPI call */
    /* All values of each column of packed.h, joined by OR while they are in the cache. */
    uint64_t columns[VT_END_COLUMNS], times[2];
    struct vt_mpi_end probe; /* of the latest probe: the fields of its call */
    uint64_t probed, is_probe; /* probed: 1 + number of ends before the latest probe whose message was not received, 0:
                                  none; is_probe: the open MPI call is one */
    /* Of the latest call, if it polls and found nothing: its ns (-1: it is another call), its end, and the useful time
       until then. poll_began: the start of the open call, -1 if it does not poll. */
    int64_t polled, poll_ended, poll_useful, poll_began;
    uint32_t poll_call; /* the call path */
    uint64_t flushing, inter_comm, inter_member; /* inter_comm: 1 + the comm whose membership was looked up last */
};

/* ---- Room ---- */

/* Adds the call paths that the replay has found since the last call. Returns 0 without memory. */
static int learn(struct ends_finder *f, const struct vt_replay *r)
{
    if (f->replay != r) f->known = 0;
    f->replay = r;
    if (f->known == r->npaths) return 1;
    uint64_t room = f->nodes_room, same = room, also = room, too = room;
    if (!VT_ROOM(f->call_of, r->npaths, &room)) return 0;
    if (!VT_ROOM(f->time_of, r->npaths, &same)) return 0;
    if (!VT_ROOM(f->touched, r->npaths, &also)) return 0;
    if (!VT_ROOM(f->out.naps, r->npaths, &too)) return 0;
    memset(f->time_of + f->nodes_room, 0, (room - f->nodes_room) * sizeof *f->time_of);
    memset(f->out.naps + f->nodes_room, 0, (room - f->nodes_room) * sizeof *f->out.naps);
    f->nodes_room = room;
    if (!f->known) f->call_of[f->known++] = 0;
    for (; f->known < r->npaths; f->known++) {
        const struct vt_path p = r->paths[f->known];
        const int is_mpi = p.region < f->out.nregions && f->out.role_of[p.region] & VT_ROLE_MPI;
        const uint32_t around = f->call_of[p.parent];
        f->call_of[f->known] = around ? around : is_mpi ? (uint32_t)f->known : 0;
    }
    return 1;
}

/* ---- Times and calls ---- */

static void spend(struct ends_finder *f, int64_t ns)
{
    if (f->call || !ns) return;
    f->out.useful += ns;
    if (!f->out.want_times) return;
    if (!f->time_of[f->node]) f->touched[f->ntouched++] = f->node;
    f->time_of[f->node] += ns;
}

static void advance(struct ends_finder *f, int64_t t)
{
    if (f->flushing) {
        const int64_t stop = t < f->flush_stop ? t : f->flush_stop;
        if (!f->call) f->out.flushed += stop - f->now;
        f->now = stop;
        f->flushing = 0;
        f->node = f->replay->paths[f->node].parent;
    }
    spend(f, t - f->now);
    f->now = t;
}

/* Appends to times the times since the last MPI call, then an entry for the MPI call that starts now. */
static int keep_times(struct ends_finder *f)
{
    struct vt_mpi_finder *o = &f->out;
    f->call = f->call_of[f->node];
    if (!o->want_times) return 1;
    if (!VT_ROOM(o->times, o->ntimes + f->ntouched + 1, &f->times_room)) return 0;
    for (uint64_t i = 0; i < f->ntouched; i++) {
        const uint32_t node = f->touched[i];
        o->times[o->ntimes++] = (struct vt_path_time){f->time_of[node], node, 0};
        f->times[0] |= (uint64_t)f->time_of[node];
        f->times[1] |= node;
        f->time_of[node] = 0;
    }
    f->ntouched = 0;
    o->times[o->ntimes++] = (struct vt_path_time){0, f->call ? f->call : f->node, 1};
    f->times[1] |= f->call ? f->call : f->node;
    return 1;
}

static uint32_t call_number(const struct ends_finder *f)
{
    return (uint32_t)(f->out.want_times ? f->out.ntimes - 1 : f->out.calls);
}

static int begin_call(struct ends_finder *f, int64_t t)
{
    f->polled = f->poll_began = -1;
    f->enter = t;
    f->entered_useful = f->out.useful;
    f->first_end = f->out.nends;
    f->out.calls++;
    return keep_times(f);
}

/* The ns that the thread has slept until a time, less the part ASLEEP of the time in which it had a processor or slept.
   Times must not descend. */
static double slept_until(struct ends_finder *f, double t)
{
    const struct vt_mpi_finder *o = &f->out;
    const double *times = o->idle_times;
    while (f->slept + 1 < o->nidle && times[f->slept + 1] <= t) f->slept++;
    const uint64_t i = f->slept, next = i + 1 < o->nidle && t > times[i] ? i + 1 : i;
    const double part = next == i ? 0 : (t - times[i]) / (times[next] - times[i]);
    const double asleep = o->asleep[i] + part * (o->asleep[next] - o->asleep[i]);
    return asleep - ASLEEP * (t - o->waited[i] - part * (o->waited[next] - o->waited[i]));
}

/* True if a poll that starts now goes on with those before. */
static int goes_on(struct ends_finder *f, uint32_t call, int64_t t)
{
    if (f->polled < 0 || f->poll_call != call) return 0;
    const int64_t most = f->polled * CLOSE, also = 2 * f->polled + CLOSE_NS, gap = t - f->poll_ended;
    if (gap <= (most < also ? most : also)) return 1;
    if (f->out.nidle) {
        const double before = slept_until(f, (double)f->poll_ended);
        if (slept_until(f, (double)t) > before) return 1;
    }
    f->out.between_polls += gap;
    return 0;
}

/* Makes the poll that starts now a part of the latest call: the time since then was no work. */
static void go_on(struct ends_finder *f)
{
    for (uint64_t i = 0; i < f->ntouched; i++) {
        f->out.naps[f->touched[i]] += f->time_of[f->touched[i]];
        f->time_of[f->touched[i]] = 0;
    }
    f->ntouched = 0;
    f->out.useful = f->poll_useful;
    f->call = f->poll_call;
}

/* Adds an end to the columns, whose values it has or will have. */
static inline void widen(struct ends_finder *f, uint64_t number)
{
    const struct vt_mpi_end *ends = f->out.ends;
    uint64_t values[VT_END_COLUMNS];
    vt_end_columns(&ends[number], &ends[number - number % VT_PACKED_ROWS], number, values);
    for (unsigned k = 0; k < VT_END_COLUMNS; k++) f->columns[k] |= values[k];
}

static void end_call(struct ends_finder *f, int64_t t)
{
    f->polled = f->poll_began >= 0 && f->first_end == f->out.nends ? t - f->poll_began : -1;
    f->poll_ended = t;
    f->poll_useful = f->out.useful;
    f->poll_call = f->call;
    if (f->out.want_times) f->out.times[f->out.ntimes - 1].ns = t - f->enter;
    f->times[0] |= (uint64_t)(t - f->enter);
    for (uint64_t i = f->first_end; i < f->out.nends; i++) {
        f->out.ends[i].leave = t;
        widen(f, i);
    }
    f->first_end = f->out.nends;
    if (f->locking) f->out.locks[f->locking - 1].lock_leave = t;
    if (f->unlocking) f->out.locks[f->unlocking - 1].unlock_leave = t;
    f->locking = f->unlocking = 0;
    if (f->is_probe) {
        f->probe = (struct vt_mpi_end){f->enter, t, f->entered_useful, f->call, call_number(f), 0, 0, 0, 0};
        f->probed = f->out.nends + 1;
        f->is_probe = 0;
    }
    f->call = 0;
}

/* ---- Ends ---- */

/* Inlined, so that the values are in registers: a copy of values that were just stored waits for the stores. */
static inline __attribute__((always_inline)) void set(struct vt_mpi_end *here, const struct vt_mpi_end *end)
{
    here->peer = end->peer;
    here->comm = end->comm;
    here->tag = end->tag;
    here->what = end->what;
}

static inline __attribute__((always_inline)) int put(struct ends_finder *f, struct vt_mpi_end end)
{
    struct vt_mpi_finder *o = &f->out;
    if (!VT_ROOM(o->ends, o->nends + 1, &f->ends_room)) return 0;
    struct vt_mpi_end *here = &o->ends[o->nends++];
    here->enter = f->enter;
    here->leave = f->now;
    here->useful = f->entered_useful;
    here->node = f->call ? f->call : f->node;
    here->call = call_number(f);
    set(here, &end);
    return 1;
}

static int remember(struct ends_finder *f, uint64_t request, uint32_t of)
{
    return vt_pair_table_set(&f->requests, request, of, f->out.nends);
}

static uint64_t forget(struct ends_finder *f, uint64_t request, uint32_t of)
{
    const uint64_t place = vt_pair_table_get(&f->requests, request, of);
    if (place) vt_pair_table_drop(&f->requests, request, of);
    return place;
}

static uint32_t row_of(const uint64_t *ids, const int64_t *rows, uint64_t n, uint32_t id)
{
    uint64_t low = 0, high = n;
    if (id < n && ids[id] == id) return (uint32_t)rows[id];
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (ids[middle] < id) low = middle + 1;
        else high = middle;
    }
    return low < n && ids[low] == id ? (uint32_t)rows[low] : VT_NONE;
}

static uint32_t comm_of(const struct ends_finder *f, uint32_t id)
{
    const struct vt_mpi_comms *c = f->out.comms;
    return row_of(c->comm_ids, c->comm_rows, c->ncomm_ids, id);
}

/* Returns the process's rank in the first group of a communicator, VT_NONE if the process is no member. */
static uint32_t own_rank(const struct ends_finder *f, uint32_t comm)
{
    const struct vt_mpi_comms *c = f->out.comms;
    for (uint32_t i = c->first[comm]; i < c->remote[comm]; i++)
        if (c->members[i] == f->out.process) return i - c->first[comm];
    return VT_NONE;
}

/* Returns the process of a rank; in an inter-communicator, of a rank of the remote group. */
static uint32_t process_of(struct ends_finder *f, uint32_t comm, uint64_t rank)
{
    const struct vt_mpi_comms *c = f->out.comms;
    if (comm >= c->ncomms + c->nwindows) return VT_NONE;
    if (c->is_self[comm]) return (uint32_t)f->out.process;
    uint64_t from = c->first[comm], to = c->remote[comm];
    if (to != c->first[comm + 1]) {
        if (f->inter_comm != comm + 1) f->inter_member = own_rank(f, comm) != VT_NONE;
        f->inter_comm = (uint64_t)comm + 1;
        if (f->inter_member) from = to, to = c->first[comm + 1];
    }
    return rank < to - from ? c->members[from + rank] : VT_NONE;
}

static int sent(struct ends_finder *f, const struct vt_detail *d)
{
    struct vt_mpi_end end = {.comm = comm_of(f, d->ref), .tag = (uint32_t)d->words[1], .what = VT_CALL_SEND};
    end.peer = process_of(f, end.comm, d->words[0]);
    if (d->kind == VT_READ_MpiSend) end.what |= VT_CALL_BLOCKS;
    return put(f, end) && (d->kind == VT_READ_MpiSend || remember(f, d->words[3], OF_SEND));
}

static int send_completed(struct ends_finder *f, uint64_t request)
{
    const uint64_t place = forget(f, request, OF_SEND);
    if (!place) return 1;
    f->out.ends[place - 1].what |= VT_CALL_COMPLETES;
    f->columns[8] |= VT_CALL_COMPLETES;
    return put(f, (struct vt_mpi_end){.peer = VT_NONE, .tag = (uint32_t)place - 1, .what = VT_CALL_SENT});
}

/* True if the open call receives at this time, soon, the message for which a call of MPI_Probe before may have waited. */
static int is_probed(const struct ends_finder *f, int64_t time)
{
    return f->probed == f->out.nends + 1 && time - f->probe.leave <= f->probe.leave - f->probe.enter;
}

/* Puts a receive into the call of the probe, which waits for the message. */
static int put_probed(struct ends_finder *f, struct vt_mpi_end end)
{
    if (!put(f, end)) return 0;
    struct vt_mpi_end *here = &f->out.ends[f->out.nends - 1];
    *here = f->probe;
    set(here, &end);
    widen(f, f->out.nends - 1);
    f->first_end = f->out.nends;
    return 1;
}

static int received(struct ends_finder *f, const struct vt_detail *d)
{
    struct vt_mpi_end end = {.comm = comm_of(f, d->ref), .tag = (uint32_t)d->words[1], .what = VT_CALL_RECEIVE};
    end.peer = process_of(f, end.comm, d->words[0]);
    const uint64_t place = d->kind == VT_READ_MpiIrecv ? forget(f, d->words[3], OF_RECEIVE) : 0;
    /* Until the end of the receive: one that waits longer than the probe may be of another message. */
    if (d->kind == VT_READ_MpiRecv && is_probed(f, f->now)) return put_probed(f, end);
    if (!place) return put(f, end); /* blocking, or its post is on another thread or was not recorded */
    struct vt_mpi_end *post = &f->out.ends[place - 1]; /* the place that was reserved for it */
    const int is_posted = place == f->out.nends && post->call == f->probe.call; /* by MPI_Mprobe */
    const int in_probe = is_posted && is_probed(f, f->enter);
    if (!in_probe) end.what = VT_CALL_POST;
    set(post, &end);
    widen(f, place - 1);
    if (in_probe) {
        f->probed = 0; /* no end is added here that would tell */
        return 1;
    }
    return put(f, (struct vt_mpi_end){.peer = end.peer, .tag = (uint32_t)place - 1, .what = VT_CALL_DONE});
}

static int begun(struct ends_finder *f, uint64_t request, uint32_t of)
{
    return put(f, (struct vt_mpi_end){.peer = VT_NONE, .what = VT_CALL_NONE}) && remember(f, request, of);
}

static void cancelled(struct ends_finder *f, uint64_t request)
{
    forget(f, request, OF_RECEIVE);
    const uint64_t place = forget(f, request, OF_SEND);
    if (place) f->out.ends[place - 1].what = VT_CALL_NONE;
}

/* Returns the direction of an OTF2_CollectiveOp and the kind of its waits. */
static uint32_t flow_of(uint32_t op, int among_neighbours)
{
#define FLOW(flow, wait) ((uint32_t)(flow) << 4 | (uint32_t)(wait) << 16)
    switch (op) {
    case 0: return FLOW(VT_CALL_ALL, VT_WAIT_mpi_barrier_wait);
    case 1: /* Bcast */
    case 4: /* Scatter */
    case 5: return FLOW(VT_CALL_FROM_ROOT, VT_WAIT_mpi_latebroadcast);
    case 2: /* Gather */
    case 3:
    case 12: return FLOW(VT_CALL_TO_ROOT, VT_WAIT_mpi_earlyreduce);
    case 6: /* Allgather */
    case 7:
    case 8: /* Alltoall */
    case 9:
    case 10: return among_neighbours ? 0 : FLOW(VT_CALL_ALL, VT_WAIT_mpi_wait_nxn);
    case 11: /* Allreduce */
    case 13: /* Reduce_scatter */
    case 16: return FLOW(VT_CALL_ALL, VT_WAIT_mpi_wait_nxn);
    case 14: /* Scan */
    case 15: return FLOW(VT_CALL_PREFIX, VT_WAIT_mpi_earlyscan);
    default: return 0;
    }
}

static int collective(struct ends_finder *f, const struct vt_detail *d)
{
    const uint32_t comm = comm_of(f, d->ref), root = (uint32_t)d->words[1];
    const int aside = d->kind == VT_READ_NonBlockingCollectiveComplete;
    const uint64_t place = aside ? forget(f, d->words[4], OF_COLLECTIVE) : 0;
    if (comm >= f->out.comms->ncomms || f->out.comms->is_self[comm] || (aside && !place)) return 1;
    const uint32_t region = d->region,
                   near = region < f->out.nregions ? f->out.role_of[region] & VT_ROLE_NEIGHBOURS : 0;
    struct vt_mpi_end end = {.comm = comm, .what = VT_CALL_COLLECTIVE | flow_of((uint32_t)d->words[0], near != 0)};
    if (VT_CALL_FLOW(end.what) == VT_CALL_PREFIX) end.peer = own_rank(f, comm);
    else end.peer = root == ROOT_SELF ? (uint32_t)f->out.process : process_of(f, comm, root);
    if (!aside) return put(f, end);
    end.what = (end.what & ~VT_CALL_KIND) | VT_CALL_ASIDE | VT_CALL_BEGIN;
    set(&f->out.ends[place - 1], &end);
    widen(f, place - 1);
    end.what = (end.what & ~VT_CALL_KIND) | VT_CALL_END;
    end.tag = (uint32_t)place - 1;
    return put(f, end);
}

/* Handles fences, and the creation and destruction of windows. */
static int window(struct ends_finder *f, const struct vt_detail *d)
{
    const struct vt_mpi_comms *c = f->out.comms;
    const uint32_t win = row_of(c->window_ids, c->window_rows, c->nwindow_ids, d->ref), op = (uint32_t)d->words[0];
    if (win >= c->nwindows) return 1;
    const uint32_t wait = op == 18 || op == 22   ? VT_WAIT_mpi_rma_wait_at_free
                          : op == 17 || op == 21 ? VT_WAIT_mpi_rma_wait_at_create
                                                 : VT_WAIT_mpi_rma_wait_at_fence;
    if (c->is_self[c->ncomms + win]) return 1;
    return put(f, (struct vt_mpi_end){.comm = (uint32_t)c->ncomms + win,
                                      .peer = VT_NONE,
                                      .what = VT_CALL_COLLECTIVE | FLOW(VT_CALL_ALL, wait)});
}

/* Handles epochs as messages to and from all members of the group: MPI_Win_start and MPI_Win_complete may wait for
   MPI_Win_post, and MPI_Win_wait waits for MPI_Win_complete. */
static int epoch(struct ends_finder *f, const struct vt_detail *d)
{
    enum { POST_TO_START, POST_TO_COMPLETE, COMPLETE_TO_WAIT };
    const struct vt_mpi_comms *c = f->out.comms;
    const uint32_t win = row_of(c->window_ids, c->window_rows, c->nwindow_ids, d->ref);
    const uint32_t group = row_of(c->group_ids, c->group_rows, c->ngroup_ids, (uint32_t)d->words[1]);
    const uint32_t role = d->region < f->out.nregions ? f->out.role_of[d->region] : 0;
    const uint32_t late = VT_CALL_RECEIVE | VT_WAIT_mpi_rma_late_post << 16;
    int fine = 1;
    if (win >= c->nwindows || group == VT_NONE || !d->words[0]) return 1; /* no level: MPI_Win_test without success */
    for (uint32_t i = c->group_first[group]; fine && i < c->group_first[group + 1]; i++) {
        struct vt_mpi_end end = {.comm = (uint32_t)c->ncomms + win, .peer = c->group_members[i], .what = VT_CALL_SEND};
        if (role & VT_ROLE_POST) {
            fine = put(f, end);
            end.tag = POST_TO_COMPLETE;
            fine = fine && put(f, end);
        } else if (role & VT_ROLE_START) {
            end.what = late;
            fine = put(f, end);
        } else if (role & VT_ROLE_COMPLETE) {
            end.tag = COMPLETE_TO_WAIT;
            fine = put(f, end);
            end.tag = POST_TO_COMPLETE;
            end.what = late;
            fine = fine && put(f, end);
        } else if (role & VT_ROLE_WAIT) {
            end.tag = COMPLETE_TO_WAIT;
            end.what = VT_CALL_RECEIVE | VT_WAIT_mpi_rma_early_wait << 16;
            fine = put(f, end);
        }
    }
    return fine;
}

/* Handles the request or the acquisition of a lock: an archive has both events, or one of them. */
static int locks(struct ends_finder *f, const struct vt_detail *d)
{
    enum { EXCLUSIVE }; /* OTF2_LOCK_EXCLUSIVE */
    const struct vt_mpi_comms *c = f->out.comms;
    struct vt_mpi_finder *o = &f->out;
    const uint32_t win = row_of(c->window_ids, c->window_rows, c->nwindow_ids, d->ref), rank = (uint32_t)d->words[0];
    if (win >= c->nwindows || vt_pair_table_get(&f->held, win, rank)) return 1;
    if (!VT_ROOM(o->locks, o->nlocks + 1, &f->locks_room)) return 0;
    o->locks[o->nlocks++] = (struct vt_lock_epoch){.lock_enter = f->enter,
                                                   .lock_leave = f->now,
                                                   .unlock_enter = INT64_MAX,
                                                   .unlock_leave = INT64_MAX,
                                                   .lock_node = f->call ? f->call : f->node,
                                                   .window = win,
                                                   .target = process_of(f, (uint32_t)c->ncomms + win, rank),
                                                   .is_exclusive = d->words[2] == EXCLUSIVE};
    f->locking = o->nlocks;
    return vt_pair_table_set(&f->held, win, rank, o->nlocks);
}

static void unlocks(struct ends_finder *f, const struct vt_detail *d)
{
    const struct vt_mpi_comms *c = f->out.comms;
    const uint32_t win = row_of(c->window_ids, c->window_rows, c->nwindow_ids, d->ref), rank = (uint32_t)d->words[0];
    const uint64_t place = win < c->nwindows ? vt_pair_table_get(&f->held, win, rank) : 0;
    if (!place) return;
    struct vt_lock_epoch *one = &f->out.locks[place - 1];
    vt_pair_table_drop(&f->held, win, rank);
    one->unlock_enter = f->enter;
    one->unlock_leave = f->now;
    one->unlock_node = f->call ? f->call : f->node;
    f->unlocking = place;
}

static int event(struct ends_finder *f, const struct vt_detail *d)
{
    switch (d->kind) {
    case VT_READ_MpiSend:
    case VT_READ_MpiIsend: return sent(f, d);
    case VT_READ_MpiIsendComplete: return send_completed(f, d->words[0]);
    case VT_READ_MpiRecv:
    case VT_READ_MpiIrecv: return received(f, d);
    case VT_READ_MpiIrecvRequest: return begun(f, d->words[0], OF_RECEIVE);
    case VT_READ_NonBlockingCollectiveRequest: return begun(f, d->words[0], OF_COLLECTIVE);
    case VT_READ_MpiRequestCancelled: cancelled(f, d->words[0]); return 1;
    case VT_READ_MpiCollectiveEnd:
    case VT_READ_NonBlockingCollectiveComplete: return collective(f, d);
    case VT_READ_RmaCollectiveEnd: return window(f, d);
    case VT_READ_RmaGroupSync: return epoch(f, d);
    case VT_READ_RmaRequestLock:
    case VT_READ_RmaAcquireLock: return locks(f, d);
    case VT_READ_RmaReleaseLock: unlocks(f, d); return 1;
    default: return 1;
    }
}

/* Handles an event of MPI. Other tools write events outside of calls, too: these become calls of 0 ns. */
static int mpi_event(struct ends_finder *f, const struct vt_detail *d)
{
    const int alone = !f->call;
    if (alone && !begin_call(f, f->now)) return 0;
    if (!event(f, d)) return 0;
    if (alone) end_call(f, f->now);
    return 1;
}

static int is_mpi(uint32_t kind)
{
    switch (kind) {
    case VT_READ_MpiSend:
    case VT_READ_MpiIsend:
    case VT_READ_MpiIsendComplete:
    case VT_READ_MpiRecv:
    case VT_READ_MpiIrecv:
    case VT_READ_MpiIrecvRequest:
    case VT_READ_MpiCollectiveEnd:
    case VT_READ_NonBlockingCollectiveRequest:
    case VT_READ_NonBlockingCollectiveComplete:
    case VT_READ_MpiRequestCancelled:
    case VT_READ_RmaCollectiveEnd:
    case VT_READ_RmaGroupSync:
    case VT_READ_RmaRequestLock:
    case VT_READ_RmaAcquireLock:
    case VT_READ_RmaReleaseLock: return 1;
    default: return 0;
    }
}

/* Handles a change of the innermost call at time t. */
static int move(struct ends_finder *f, int64_t t, uint32_t node)
{
    const uint32_t call = f->call_of[node];
    if (f->call && call != f->call) end_call(f, t);
    f->node = node;
    if (!call || f->call) return 1;
    const uint32_t role = f->out.role_of[f->replay->paths[call].region];
    if (role & VT_ROLE_POLL && goes_on(f, call, t)) go_on(f);
    else if (!begin_call(f, t)) return 0;
    f->poll_began = role & VT_ROLE_POLL ? t : -1;
    f->is_probe = (role & VT_ROLE_PROBE) != 0;
    if (!(role & VT_ROLE_FINALIZE)) return 1;
    const struct vt_mpi_comms *c = f->out.comms;
    return put(f, (struct vt_mpi_end){.comm = (uint32_t)(c->ncomms + c->nwindows),
                                      .peer = VT_NONE,
                                      .what = VT_CALL_COLLECTIVE | FLOW(VT_CALL_ALL, VT_WAIT_mpi_finalize_wait)});
}

/* Counts the time outside of MPI from row i up to but not including `stop`, as advance and move do. Returns the row of
   the next event that may be other than an Enter or Leave of a function outside of MPI. */
static uint64_t pass_calls(struct ends_finder *f, const struct vt_batch *b, uint64_t i, uint64_t stop)
{
    const uint32_t *nodes = f->replay->nodes, *call_of = f->call_of;
    const int in_call = f->call != 0, want_times = f->out.want_times != 0;
    int64_t *time_of = f->time_of, now = f->now;
    uint64_t ntouched = f->ntouched;
    uint32_t node = f->node;
    for (; i < stop; i++) {
        const uint32_t next = nodes[i];
        if (next == node) continue;
        if (in_call || call_of[next] || b->kind[i] == VT_READ_BufferFlush) break;
        const int64_t ns = b->time[i] - now;
        if (want_times && ns) {
            if (!time_of[node]) f->touched[ntouched++] = node;
            time_of[node] += ns;
        }
        now += ns;
        node = next;
    }
    f->out.useful += now - f->now;
    f->ntouched = ntouched;
    f->node = node;
    f->now = now;
    return i;
}

VT_EXPORT int vt_mpi_ends_batch(struct vt_mpi_finder *out, const struct vt_replay *replay, const struct vt_batch *b)
{
    struct ends_finder *f = (struct ends_finder *)out;
    const struct vt_detail *d = b->details, *end = d ? d + b->ndetails : d;
    if (!learn(f, replay)) return VT_READ_NO_MEMORY;
    if (b->count && !out->events) out->first = f->now = b->time[0];
    out->events += b->count;
    for (uint64_t i = 0; i < b->count; i++) {
        if (!f->flushing) i = pass_calls(f, b, i, d < end && d->row < b->count ? d->row : b->count);
        if (i == b->count) break;
        advance(f, b->time[i]);
        for (; d < end && d->row == i; d++) {
            if (is_mpi(d->kind) && !mpi_event(f, d)) return VT_READ_NO_MEMORY;
            if (d->kind != VT_READ_BufferFlush) continue;
            const int64_t stop = vt_read_ns(b, d->words[0]);
            f->flush_stop = stop > f->now ? stop : f->now;
        }
        if (replay->nodes[i] == f->node) continue;
        if (!move(f, b->time[i], replay->nodes[i])) return VT_READ_NO_MEMORY;
        f->flushing = b->kind[i] == VT_READ_BufferFlush;
    }
    return VT_READ_OK;
}

VT_EXPORT int vt_mpi_ends_end(struct vt_mpi_finder *out, int64_t ns)
{
    struct ends_finder *f = (struct ends_finder *)out;
    if (!out->events) return VT_READ_OK;
    if (ns < f->now) ns = f->now;
    advance(f, ns);
    if (f->call) end_call(f, ns);
    out->last = ns;
    out->nnaps = f->known;
    f->node = f->call = 0;
    if (out->want_times && !keep_times(f)) return VT_READ_NO_MEMORY; /* the last entry is for the end of the location */
    f->times[1] = f->times[1] << 1 | 1; /* is_mpi */
    out->ends_widths = vt_packed_widths(f->columns, VT_END_COLUMNS);
    out->times_widths = vt_packed_widths(f->times, 2);
    return VT_READ_OK;
}

VT_EXPORT void vt_mpi_ends_begin(struct vt_mpi_finder *out)
{
    struct ends_finder *f = (struct ends_finder *)out;
    out->nends = out->ntimes = out->nlocks = out->events = out->calls = 0;
    out->first = out->last = out->useful = out->flushed = out->between_polls = 0;
    if (out->naps) memset(out->naps, 0, f->nodes_room * sizeof *out->naps);
    out->nnaps = f->slept = 0;
    out->ends_widths = out->times_widths = 0;
    memset(f->columns, 0, sizeof f->columns);
    memset(f->times, 0, sizeof f->times);
    for (uint64_t i = 0; i < f->ntouched; i++) f->time_of[f->touched[i]] = 0;
    f->ntouched = f->first_end = f->flushing = f->inter_comm = f->inter_member = 0;
    f->node = f->call = 0;
    f->now = f->enter = f->entered_useful = 0;
    f->locking = f->unlocking = f->probed = f->is_probe = 0;
    f->polled = f->poll_began = -1;
    vt_pair_table_free(&f->requests);
    vt_pair_table_free(&f->held);
}

VT_EXPORT struct vt_mpi_finder *vt_mpi_ends_new(void)
{
    struct ends_finder *f = calloc(1, sizeof *f);
    return f ? &f->out : NULL;
}

VT_EXPORT void vt_mpi_ends_free(struct vt_mpi_finder *out)
{
    struct ends_finder *f = (struct ends_finder *)out;
    if (!f) return;
    vt_pair_table_free(&f->requests);
    vt_pair_table_free(&f->held);
    void *all[] = {out->ends, out->times, out->locks, out->naps, f->call_of, f->time_of, f->touched};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    free(f);
}
