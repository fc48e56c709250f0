/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints of a location: the stack of open calls before some of its events. A replay can start at a checkpoint,
   without the earlier events. */
#ifndef VT_CHECKPOINTS_H
#define VT_CHECKPOINTS_H

#include <stdint.h>

#define VT_CHECKPOINT_EVENTS 4096u /* least number of events between two checkpoints */
#define VT_CHECKPOINT_BLOCK 64u /* checkpoints in a block; a block needs no other block */

/* An open call. Times in ns. */
struct vt_checkpoint_call {
    int64_t enter, inside, flushed; /* inside: time of the calls made from this call so far; flushed: time of flushes */
    uint64_t number; /* number of its Enter among the location's events, from 1 */
    uint32_t region, node; /* node: its call path */
};

/* The moment before an event. */
struct vt_checkpoint {
    uint64_t number; /* number of the event, from 1 */
    int64_t time; /* time of the previous event, ns */
    uint32_t depth; /* open calls */
    uint32_t common; /* outermost calls that equal those of the previous checkpoint; 0 at the start of a block */
};

/* Checkpoints of a location so far. calls: the depth - common innermost calls of each checkpoint. */
struct vt_checkpoints {
    struct vt_checkpoint *list;
    struct vt_checkpoint_call *calls;
    uint64_t count, ncalls;
    uint64_t next, taken; /* the next checkpoint is before this event or a later one; total of checkpoints so far */
    uint64_t list_room, calls_room;
    struct vt_checkpoint_call *last; /* the stack of the last checkpoint */
    uint64_t last_depth, last_room;
};

struct vt_checkpoints *vt_checkpoints_new(void);
void vt_checkpoints_free(struct vt_checkpoints *c);
/* Begins a new location. */
void vt_checkpoints_begin(struct vt_checkpoints *c);
/* Adds a checkpoint. Returns 0 if there is no memory. */
int vt_checkpoints_take(struct vt_checkpoints *c, uint64_t number, int64_t time, const struct vt_checkpoint_call *stack,
                        uint64_t depth);

#endif
