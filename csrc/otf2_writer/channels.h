/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages without a partner so far, in queues by channel: sender, receiver, communicator and tag (MPI 4.1, 3.5:
   messages of one channel do not overtake each other). */
#ifndef VT_CHANNELS_H
#define VT_CHANNELS_H

#include <stddef.h>
#include <stdint.h>
#include "pair_table.h"

/* The first member of each entry of a queue. */
struct vt_link {
    struct vt_link *next;
};

struct vt_queue {
    struct vt_link *first, *last; /* first is NULL: empty */
};

/* All zero: no channel. */
struct vt_channels {
    struct vt_pair_table queues;
    uint64_t many; /* number of channels above which empty ones are removed */
};

/* Returns the queue of a channel, valid until the next call; NULL: no memory. */
struct vt_queue *vt_channels_get(struct vt_channels *c, uint32_t from, uint32_t to, uint32_t comm, uint32_t tag);
/* Returns the queue at a place of the table, in 0 to queues.size - 1; NULL: the place is free. */
struct vt_queue *vt_channels_at(const struct vt_channels *c, uint64_t place);
void vt_channels_free(struct vt_channels *c); /* frees the table, not the entries of the queues */

static inline void vt_queue_append(struct vt_queue *q, struct vt_link *one)
{
    if (q->first) q->last->next = one;
    else q->first = one;
    q->last = one;
    one->next = NULL;
}

/* Removes the first entry of a queue that is not empty. */
static inline struct vt_link *vt_queue_take(struct vt_queue *q)
{
    struct vt_link *one = q->first;
    q->first = one->next;
    return one;
}

#endif
