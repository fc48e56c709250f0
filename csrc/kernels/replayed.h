/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the replay of matcher.h. matcher.c has processes and messages, match_collectives.c collectives,
   wait_sums.c the waits of calls, meetings.c the calls in which processes met, path_times.c
   the times of call paths. */
#ifndef VT_REPLAYED_H
#define VT_REPLAYED_H

#include "../otf2_writer/channels.h"
#include "matcher.h"
#include "wait_log.h"

/* A call of MPI that others wait for. */
struct vt_who {
    int64_t enter, model; /* model: the same in the modelled run, see modelled_run.c */
    uint32_t location, node, call;
};

/* An MPI call under way, until all that it may wait for is known. */
struct vt_open_call {
    int64_t enter, leave;
    int64_t sure, late; /* ends of the wait, and of the wait for a receiver */
    int64_t tail; /* begin of the completion of a collective; INT64_MAX: none */
    int64_t sent; /* begin of the latest message that the call waited for */
    uint32_t node, location, call, kind, tail_kind;
    struct vt_who partner, receiver; /* that it waits for; that it may wait for */
    uint32_t meet, partner_meet; /* the calls in which it met the partner last */
    uint32_t pending; /* ends that are not known yet, + 1 while the replay is inside the call */
    struct vt_open_call *next, *made;
};

/* A message, made at the end that is seen first. */
struct vt_message {
    struct vt_link link; /* in its channel, or in the list of spare messages */
    int64_t ideal; /* of the send */
    struct vt_who from, to; /* the call that sends, and the one that posts the receive */
    struct vt_open_call *sender; /* waits for the receiver, maybe */
    uint32_t waiter; /* actor that waits for the message */
    uint8_t is_sent, is_posted, is_received, is_completed; /* is_completed: the sender does not need it any more */
    struct vt_message *made;
};

/* One collective operation. */
struct vt_instance {
    uint64_t key[2];
    struct vt_who last, other, root; /* last to enter; first one besides the root; the root */
    int64_t leave; /* first one */
    int64_t ideal, root_ideal;
    int64_t model; /* last enter in the modelled run */
    uint32_t begun, ended, expected, waiter;
    uint32_t gone, gone_of; /* members that ended without this operation, when gone_of actors had ended */
    uint8_t has_root, released;
    struct vt_rank *ranks; /* of a prefix, by rank: of this rank and all lower ones, the first `known` ones */
    uint32_t known;
    struct vt_instance *next, *made;
};

struct vt_rank {
    struct vt_who who;
    int64_t ideal;
    uint64_t begun;
};

/* A part of a call in which the call waits. sent: begin of the message that it waits for. */
struct vt_part {
    int64_t begin, end, enter, leave, sent;
    struct vt_wait wait;
};

/* A location in the modelled run. */
struct vt_modelled {
    int64_t leave, recorded; /* of its latest call, there and in the recorded run */
    int64_t enter, ready; /* of the open call; ready: when its partners had entered theirs */
    uint64_t next, from; /* first time of a call path that was not looked at; first one in memory */
    struct vt_path_time *times;
    uint32_t n;
};

#define VT_MEETINGS 8u
#define VT_COMMS 8u

/* The latest meetings of two locations by messages: the calls of sender and receiver. Of a location and a communicator:
   numbers of operations, and their calls. */
struct vt_meetings {
    uint32_t count, one[VT_MEETINGS], other[VT_MEETINGS];
    struct vt_meetings *made;
};

/* The position of the replay in the ends of one location. */
struct vt_reader {
    const struct vt_location_ends *place;
    const uint32_t *joined;
    struct vt_mpi_end *ends;
    uint64_t done; /* ends read from the file */
    uint32_t at, n, room, location, phase; /* phase: 1 between begin and end of a blocking call */
    struct vt_message *posted;
    struct vt_instance *instance;
    struct vt_open_call *call;
    uint32_t call_number;
    uint64_t comms[VT_COMMS]; /* of its latest operations of all with all, the latest one first; see meetings.c */
    uint32_t ncomms;
    int64_t ideal, ideal_useful; /* the ideal clock, and the useful time in the window that it has seen */
    int64_t useful, base, top; /* useful time before the latest call, the begin and the end of the window */
    uint8_t has_base, has_top;
    struct vt_modelled modelled;
    struct vt_part *lates; /* waits for late senders, until later receives have shown their order; by sent */
    uint32_t first_late, nlates, lates_room;
};

enum vt_actor_state { VT_ACTOR_READY, VT_ACTOR_BLOCKED, VT_ACTOR_ENDED };

/* A process. */
struct vt_actor {
    uint32_t first, count; /* its readers */
    uint32_t next; /* in the list of those that are ready, or wait for one thing */
    uint32_t state, peer; /* peer: process that the actor waits for, VT_NONE: a collective */
    void *waits; /* for: a vt_message or a vt_instance */
};

/* Blocks of the times of call paths. */
struct vt_time_blocks {
    struct vt_path_time *blocks;
    uint32_t block; /* times in a block */
    uint64_t *kept; /* location << 32 | number + 1 of each block in memory; 0: none */
};

struct vt_replayed {
    struct vt_matcher *out;
    struct vt_reader *readers;
    struct vt_actor *actors; /* by process */
    uint32_t nreaders, ready, batch, nended;
    struct vt_channels channels; /* messages: sent and not posted, or posted and not sent */
    struct vt_pair_table open, instances, counts, sums, sizes;
    struct vt_pair_table met; /* (sender, receiver), or (location, communicator) -> vt_meetings; if causes are wanted */
    struct vt_meetings *meetings;
    struct vt_wait_log log;
    struct vt_time_blocks times; /* if causes are wanted */
    uint32_t *heads; /* by location: number of its latest wait in the log, + 1 */
    struct vt_link *spare_messages;
    struct vt_message *messages;
    struct vt_instance *spare_instances, *made_instances;
    struct vt_open_call *spare_calls, *calls;
    uint64_t waits_room, calls_room;
    int failed;
};

/* Returns 1: done, 0: the actor must wait, -1: no memory. */

/* ---- matcher.c ---- */

void vt_wake_list(struct vt_replayed *r, uint32_t *list);
/* Puts an actor to sleep in the list of a message from a peer, or of an instance (VT_NONE). Returns 0. */
int vt_sleep_in(struct vt_replayed *r, uint32_t actor, uint32_t *list, void *waits, uint32_t peer);
/* The call of an end. */
struct vt_who vt_who_calls(const struct vt_reader *c, const struct vt_mpi_end *e);
/* The ideal time at the begin of the call of an end. */
int64_t vt_ideal_at(struct vt_replayed *r, struct vt_reader *c, const struct vt_mpi_end *e);
/* The call of a reader takes something that was ready at an ideal time. */
void vt_ideal_after(struct vt_reader *c, int64_t ideal);

/* ---- match_collectives.c ---- */

int vt_collective_begins(struct vt_replayed *r, uint32_t process, struct vt_reader *c, const struct vt_mpi_end *e,
                         struct vt_instance **instance);
int vt_collective_ends(struct vt_replayed *r, uint32_t actor, struct vt_reader *c, const struct vt_mpi_end *e,
                       struct vt_instance *i);
/* Wakes those that wait for an actor that has ended. */
void vt_collectives_gone(struct vt_replayed *r);

/* ---- wait_sums.c ---- */

/* Enters the call of an end, unless the replay is inside it. Returns 0 without memory. */
int vt_call_enter(struct vt_replayed *r, struct vt_reader *c, const struct vt_mpi_end *e);
/* Leaves the call of a reader, if there is one. */
int vt_call_leave(struct vt_replayed *r, struct vt_reader *c);
/* The call waits until a partner enters its call, unless it waits longer for another one. */
void vt_call_waits(struct vt_open_call *o, uint32_t kind, const struct vt_who *partner);
/* One thing that the call waited for is known. */
int vt_call_known(struct vt_replayed *r, struct vt_open_call *o);
/* A message was received that was sent at a time: waits for later messages were in the wrong order. */
int vt_call_order(struct vt_replayed *r, struct vt_reader *c, int64_t sent);

/* ---- meetings.c ---- */

/* A message was received in a call of a location. Returns 0 without memory. */
int vt_meet_by_message(struct vt_replayed *r, const struct vt_who *sender, uint32_t receiver, uint32_t call);
/* An operation of all with all was left in a call of a reader. Returns 0 without memory. */
int vt_meet_all(struct vt_replayed *r, struct vt_reader *c, const struct vt_instance *i, uint32_t call);
/* Finds the calls in which a waiting call and its partner met last before, for `meet` and `partner_meet`. */
void vt_find_meeting(const struct vt_replayed *r, const struct vt_reader *c, struct vt_open_call *o);

/* ---- modelled_run.c ---- */

/* The call of an end begins, and ends. Returns 0 if the times cannot be read. */
int vt_model_enters(struct vt_replayed *r, struct vt_reader *c, const struct vt_mpi_end *e);
void vt_model_leaves(struct vt_reader *c, const struct vt_open_call *o);
/* The call of a reader waits for a time of the modelled run. */
void vt_model_waits(struct vt_reader *c, int64_t model);
/* The location ends. */
int vt_model_ends(struct vt_replayed *r, struct vt_reader *c);

/* ---- path_times.c ---- */

/* Returns 0 without memory. */
int vt_times_open(struct vt_time_blocks *t, uint64_t locations);
void vt_times_close(struct vt_time_blocks *t);
/* The times of a location from number `at` on, which must be below ntimes; *n: how many there are, valid until the next
   call. NULL if they cannot be read. */
const struct vt_path_time *vt_times_at(struct vt_replayed *r, uint32_t location, uint64_t at, uint64_t *n);

/* ---- causes.c, delays.c ---- */

/* Results are enum VT_MATCH codes. */
int vt_find_causes(struct vt_replayed *r);
int vt_find_delays(struct vt_replayed *r);

/* ---- wait_sums.c ---- */

/* No further receives follow. */
int vt_call_no_more(struct vt_replayed *r, struct vt_reader *c);

#endif
