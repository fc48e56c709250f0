/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the replay of matcher.h. matcher.c has processes and messages, match_collectives.c collectives,
   wait_sums.c the waits of calls, meetings.c the calls in which processes met, modelled_run.c the run with faster call
   paths, wait_log.c the files of waits and of the times of call paths. */
#ifndef VT_REPLAYED_H
#define VT_REPLAYED_H

#include "../otf2_writer/containers.h"
#include "matcher.h"
#include "packed.h"

/* ---- wait_log.c ---- */

/* The waits of calls for partners. Calls are places in the times of their locations. The search for causes compares the
   waits of a location, which are in memory; it needs the partner of a wait once, so the partners are in a file. */

#define VT_SENT_BY_WAITING 1u
#define VT_SENT_BY_PARTNER 2u

struct vt_waited {
    int64_t enter, until;
    uint32_t call, node;
    uint32_t number; /* of the partner in the log */
    uint16_t kind, sender; /* sender: see vt_open_call */
};

/* The waits of a location in the order of its calls; those for late receivers where the replay knows the receiver, until
   delays.c sorts them. */
struct vt_waits_of {
    struct vt_waited *list;
    uint64_t room;
    uint32_t count;
};

/* The partner of a wait in a call of a location. */
struct vt_logged {
    uint32_t location, call;
    uint32_t partner, partner_call, partner_node;
    uint32_t meet, partner_meet; /* the two calls in which the locations met last; VT_NONE if unknown */
};

#define VT_LOG_BLOCK 1024u /* number of partners in a block */
#define VT_LOG_BLOCKS 512u /* number of blocks in memory */

/* The partners in the order of the replay: each wait follows the waits on which it depends, unless these are for late
   receivers. */
struct vt_wait_log {
    int file;
    uint64_t count;
    int has_late; /* 1: has waits for late receivers, which may follow waits that depend on them */
    struct vt_logged *blocks; /* block n has the place n % VT_LOG_BLOCKS, or is in the file */
    struct vt_log_place {
        uint64_t kept; /* 1 + number of the block in this place; 0: none */
        uint64_t in_file;
    } *places;
};

/* Returns 0 without memory. */
int vt_log_open(struct vt_wait_log *log, int file);
void vt_log_close(struct vt_wait_log *log);
/* Returns a new last partner for the caller to set, NULL if writing fails. */
struct vt_logged *vt_log_add(struct vt_wait_log *log);
/* Returns a partner, valid until the next call; NULL if reading fails. No partner may be added afterwards. */
const struct vt_logged *vt_log_get(struct vt_wait_log *log, uint64_t number);
/* Reads bytes of a file. Returns 0 on failure. */
int vt_read_all(int file, void *to, uint64_t bytes, uint64_t offset);

/* ---- The state ---- */

/* An MPI call that other processes wait for. */
struct vt_who {
    int64_t enter, model; /* model: the time of enter in the modelled run, see modelled_run.c */
    uint32_t location, node, call;
};

/* An MPI call, until the enters of all partners are known for which the call may wait. */
struct vt_open_call {
    const struct vt_reader *reader;
    int64_t enter, leave;
    int64_t sure, late; /* ends of the wait, and of the possible wait for a receiver */
    int64_t tail; /* start of the completion of a collective; INT64_MAX: none */
    int64_t sent; /* start of the latest send that the call waited for */
    uint32_t node, location, call, kind, tail_kind;
    struct vt_who partner, receiver; /* the partner that the call waits for; the receiver that the call may wait for */
    uint32_t meet, partner_meet; /* the two calls in which the locations met last */
    uint32_t sender; /* VT_SENT_BY_*: who only sent there, so that a wait in that call is after the meeting */
    uint32_t pending; /* number of unknown ends, + 1 while the replay is inside the call */
    struct vt_open_call *next, *made;
};

/* A message, created when the replay reaches the first of its ends. */
struct vt_message {
    struct vt_link link; /* in its channel, or in the list of spare messages */
    int64_t ideal; /* the ideal time of the send */
    struct vt_who from, to; /* the call that sends, and the one that posts the receive */
    struct vt_open_call *sender; /* the call that may wait for the receiver */
    uint32_t waiter; /* actor that waits for the message */
    uint8_t is_sent, is_posted, is_received, is_completed; /* is_completed: the sender needs the message no longer */
    uint8_t blocks, is_met; /* is_met: the call that sends, and blocks, waited for the receiver */
    struct vt_message *made;
};

/* One collective operation. */
struct vt_instance {
    uint64_t key[2];
    struct vt_who last, root; /* the last to enter; the root */
    int64_t leave; /* the first leave */
    int64_t ideal, root_ideal;
    int64_t model; /* the last enter in the modelled run */
    uint32_t begun, ended, expected, waiter;
    uint32_t gone, gone_of; /* members that ended without this operation, when gone_of actors had ended */
    uint8_t has_root, released;
    struct vt_rank *ranks; /* for a prefix, for the first `known` ranks: the last to enter among ranks 0 to this */
    uint32_t known;
    struct vt_instance *next, *made;
};

struct vt_rank {
    struct vt_who who;
    int64_t ideal;
    uint64_t begun;
};

/* A part of a call in which the call waits. sent: start of the send that the call waits for. */
struct vt_part {
    int64_t begin, end, enter, leave, sent;
    struct vt_wait wait;
};

/* A location in the modelled run. */
struct vt_modelled {
    int64_t leave, recorded; /* end of the latest call in the modelled and in the recorded run */
    int64_t enter, ready; /* of the open call; ready: when all its partners have entered their calls */
    uint64_t next, from; /* numbers of the next time of a call path, and of the first time in memory */
    struct vt_path_time *times;
    uint32_t n;
};

#define VT_MEETINGS 8u
#define VT_COMMS 8u

/* The latest meetings of two locations by messages: the calls of sender and receiver, and how much later the receiver
   entered its call, ns. For a location and a
   communicator: the numbers of the operations, and the location's calls. */
struct vt_meetings {
    uint32_t count, one[VT_MEETINGS], other[VT_MEETINGS];
    int64_t later[VT_MEETINGS];
    struct vt_meetings *made;
};

#define VT_OPENED 32u

/* A message, or an operation of a collective, to which a later end of its location refers. */
struct vt_opened {
    uint64_t key; /* the place of the first end, and the kind of object */
    void *object; /* NULL: none */
};

/* The position of the replay in the ends of one location. */
struct vt_reader {
    const struct vt_location_ends *place;
    const uint32_t *joined;
    struct vt_end_layout layout;
    struct vt_mpi_end end; /* the current one, if is_read */
    uint64_t next; /* number of the current end */
    unsigned char *blocks; /* packed blocks from the file: those of the ends from `from` on, before `until` */
    uint64_t from, until;
    uint32_t is_read, location, phase; /* phase: 1 between start and end of a blocking call */
    struct vt_message *posted;
    struct vt_instance *instance;
    struct vt_open_call *call;
    uint32_t call_number;
    uint64_t comms[VT_COMMS]; /* communicators of the latest N-to-N collectives, the latest first; see meetings.c */
    uint32_t ncomms;
    int64_t ideal, ideal_useful; /* the ideal clock, and the useful time in the window that the clock includes */
    int64_t useful, base, top; /* useful time before the latest call, before the start and the end of the window */
    uint8_t has_base, has_top;
    struct vt_modelled modelled;
    struct vt_opened opened[VT_OPENED]; /* by place; r->open has those whose place is taken */
    struct vt_part *lates; /* waits for late senders whose order later receives decide, ascending by sent */
    uint32_t first_late, nlates;
    uint64_t lates_room;
};

enum vt_actor_state { VT_ACTOR_READY, VT_ACTOR_BLOCKED, VT_ACTOR_ENDED };

/* A process. */
struct vt_actor {
    uint32_t first, count; /* the process's readers */
    uint32_t next; /* in the list of ready actors, or of actors that wait for the same message or instance */
    uint32_t state, peer; /* peer: process that the actor waits for; VT_NONE for a collective */
    void *waits; /* the vt_message or vt_instance that the actor waits for */
};

/* Blocks of the times of call paths. */
struct vt_time_blocks {
    unsigned char *blocks;
    uint32_t block; /* number of times in a block */
    uint64_t *kept; /* location << 32 | number + 1 of each block in memory; 0: none */
};

struct vt_replayed {
    struct vt_matcher *out;
    struct vt_reader *readers;
    struct vt_actor *actors; /* by process */
    uint32_t nreaders, ready, batch, nended;
    struct vt_channels channels; /* messages with one known side: sent or posted */
    struct vt_pair_table open, instances, counts, sums, sizes;
    struct vt_pair_table met; /* (sender, receiver), or (location, communicator) -> vt_meetings; if causes are wanted */
    struct vt_meetings *meetings;
    struct vt_wait_log log;
    struct vt_time_blocks times; /* if causes are wanted */
    struct vt_waits_of *waited; /* by location, if causes are wanted */
    struct vt_link *spare_messages;
    struct vt_message *messages;
    struct vt_instance *spare_instances, *made_instances;
    struct vt_open_call *spare_calls, *calls;
    uint64_t waits_room, calls_room;
    int failed;
};

/* vt_collective_begins and vt_collective_ends return 1: done, 0: the actor must wait, -1: no memory. */

/* ---- matcher.c ---- */

void vt_wake_list(struct vt_replayed *r, uint32_t *list);
/* Puts an actor to sleep in the list of a message from a peer, or of an instance (peer VT_NONE). Returns 0. */
int vt_sleep_in(struct vt_replayed *r, uint32_t actor, uint32_t *list, void *waits, uint32_t peer);
/* Returns the call of an end. */
struct vt_who vt_who_calls(const struct vt_reader *c, const struct vt_mpi_end *e);
/* Returns the ideal time at the start of an end's call. */
int64_t vt_ideal_at(struct vt_replayed *r, struct vt_reader *c, const struct vt_mpi_end *e);
/* Sets a reader's ideal clock to at least this ideal time, at which the call's partner was ready. */
void vt_ideal_after(struct vt_reader *c, int64_t ideal);

/* ---- match_collectives.c ---- */

int vt_collective_begins(struct vt_replayed *r, uint32_t process, struct vt_reader *c, const struct vt_mpi_end *e,
                         struct vt_instance **instance);
int vt_collective_ends(struct vt_replayed *r, uint32_t actor, struct vt_reader *c, const struct vt_mpi_end *e,
                       struct vt_instance *i);
/* Wakes actors that wait for a collective of an ended actor. */
void vt_collectives_gone(struct vt_replayed *r);

/* ---- wait_sums.c ---- */

/* Enters the call of an end, unless the replay is inside this call. Returns 0 without memory. */
int vt_call_enter(struct vt_replayed *r, struct vt_reader *c, const struct vt_mpi_end *e);
/* Leaves the open call of a reader, if any. */
int vt_call_leave(struct vt_replayed *r, struct vt_reader *c);
/* Records that a call waits until a partner enters, unless the call waits longer for another partner. */
void vt_call_waits(struct vt_open_call *o, uint32_t kind, const struct vt_who *partner);
/* Reduces the number of unknown ends of a call by one. */
int vt_call_known(struct vt_replayed *r, struct vt_open_call *o);
/* Handles the receipt of a message sent at a time: waits for messages sent later were in the wrong order. */
int vt_call_order(struct vt_replayed *r, struct vt_reader *c, int64_t sent);

/* ---- meetings.c ---- */

/* Records a meeting: a message was received in a call; its sender had time for other work since a moment. Returns 0 without
   memory. */
int vt_meet_by_message(struct vt_replayed *r, const struct vt_who *sender, const struct vt_open_call *receiver,
                       int64_t since);
/* Records a meeting: an N-to-N collective completed in a call of a reader. Returns 0 without memory. */
int vt_meet_all(struct vt_replayed *r, struct vt_reader *c, const struct vt_instance *i, uint32_t call);
/* Sets `meet` and `partner_meet` of a waiting call to the calls in which the call's location and its partner met last.
   */
void vt_find_meeting(const struct vt_replayed *r, const struct vt_reader *c, struct vt_open_call *o);

/* ---- modelled_run.c ---- */

/* Start and end of an end's call in the modelled run. Return 0 if reading the times fails. */
int vt_model_enters(struct vt_replayed *r, struct vt_reader *c, const struct vt_mpi_end *e);
void vt_model_leaves(struct vt_reader *c, const struct vt_open_call *o);
/* Lets the call of a reader wait for a time of the modelled run. */
void vt_model_waits(struct vt_reader *c, int64_t model);
/* Ends a location in the modelled run. */
int vt_model_ends(struct vt_replayed *r, struct vt_reader *c);

/* Returns 0 without memory. */
int vt_times_open(struct vt_time_blocks *t, uint64_t locations);
void vt_times_close(struct vt_time_blocks *t);
/* Finds times of a location from number `at` on, which must be below ntimes, valid until the next call. Returns their
   number, 0 if reading fails. */
uint64_t vt_times_at(struct vt_replayed *r, uint32_t location, uint64_t at, struct vt_packed_times *found);

/* ---- causes.c, delays.c ---- */

/* Results are enum VT_MATCH codes. */
int vt_find_causes(struct vt_replayed *r);
int vt_find_delays(struct vt_replayed *r);

/* ---- wait_sums.c ---- */

/* Adds the waits for late senders at the end of a location. Returns 0 without memory. */
int vt_call_no_more(struct vt_replayed *r, struct vt_reader *c);

#endif
