/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints of a location: the stack of open calls before some of its events, from which a replay can go on without the
   events before. */
#ifndef VT_CHECKPOINTS_H
#define VT_CHECKPOINTS_H

#include <stdint.h>

#define VT_CHECKPOINT_EVENTS 4096u /* between two checkpoints, at least */
#define VT_CHECKPOINT_BLOCK 64u /* checkpoints in a block, which needs no other block */

/* An open call. Times in ns. */
struct vt_checkpoint_call {
    int64_t enter, inside, flushed; /* inside: time of the calls made from it so far; flushed: of flushes */
    uint64_t number; /* of its Enter among the location's events, from 1 */
    uint32_t region, node; /* node: its call path */
};

/* The moment before an event. */
struct vt_checkpoint {
    uint64_t number; /* of the event, from 1 */
    int64_t time; /* of the event before, ns */
    uint32_t depth; /* open calls */
    uint32_t common; /* outermost calls that equal those of the checkpoint before; 0 at the begin of a block */
};

/* Checkpoints of a location so far. calls: of each checkpoint its depth - common innermost calls. */
struct vt_checkpoints {
    struct vt_checkpoint *list;
    struct vt_checkpoint_call *calls;
    uint64_t count, ncalls;
    uint64_t next, taken; /* the next checkpoint is before this event or a later one; checkpoints so far in all */
    uint64_t list_room, calls_room;
    struct vt_checkpoint_call *last; /* the stack of the last checkpoint */
    uint64_t last_depth, last_room;
};

struct vt_checkpoints *vt_checkpoints_new(void);
void vt_checkpoints_free(struct vt_checkpoints *c);
/* Begins a new location. */
void vt_checkpoints_begin(struct vt_checkpoints *c);
/* Adds a checkpoint. Returns 0 without memory. */
int vt_checkpoints_take(struct vt_checkpoints *c, uint64_t number, int64_t time, const struct vt_checkpoint_call *stack,
                        uint64_t depth);

#endif
