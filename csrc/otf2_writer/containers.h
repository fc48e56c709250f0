/* SPDX-License-Identifier: BSD-3-Clause */
/* Growing arrays, tables of numbers, and queues of messages. */
#ifndef VT_CONTAINERS_H
#define VT_CONTAINERS_H

#include <stddef.h>
#include <stdint.h>

/* Makes room for `needed` items in an array; room: a pointer to the number of items for which there is room, of 64 bits.
   Is 0 if there is no memory. */
#define VT_ROOM(array, needed, room) ((needed) <= *(room) || vt_grow((void **)&(array), sizeof *(array), needed, room))
int vt_grow(void **array, uint64_t size, uint64_t needed, uint64_t *room);
/* Makes room for one more item in an array that only grows in this way, and so needs no number of its room. */
#define VT_ROOM_FOR_NEXT(array, count) vt_grow_for_next((void **)&(array), sizeof *(array), count)
int vt_grow_for_next(void **array, uint64_t size, uint64_t count);

/* A table of numbers (not 0) by pairs of numbers: open addressing without tombstones. */
struct vt_pair_table {
    struct vt_entry {
        uint64_t a, b, value; /* value 0: free */
    } *entries;
    uint64_t count, size; /* size: a power of two */
};

static inline uint64_t vt_pair_table_home(const struct vt_pair_table *t, uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ b * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
    return (h ^ h >> 32) & (t->size - 1);
}

/* Returns the entry of the pair, or the free entry after its chain. */
static inline uint64_t vt_pair_table_place(const struct vt_pair_table *t, uint64_t a, uint64_t b)
{
    uint64_t at = vt_pair_table_home(t, a, b);
    while (t->entries[at].value && (t->entries[at].a != a || t->entries[at].b != b)) at = (at + 1) & (t->size - 1);
    return at;
}

static inline uint64_t vt_pair_table_get(const struct vt_pair_table *t, uint64_t a, uint64_t b) /* 0: no such pair */
{
    return t->count ? t->entries[vt_pair_table_place(t, a, b)].value : 0;
}

/* Returns the pair's number, to be changed in place; NULL: no such pair. */
static inline uint64_t *vt_pair_table_find(const struct vt_pair_table *t, uint64_t a, uint64_t b)
{
    if (!t->count) return NULL;
    struct vt_entry *entry = &t->entries[vt_pair_table_place(t, a, b)];
    return entry->value ? &entry->value : NULL;
}

int vt_pair_table_set(struct vt_pair_table *t, uint64_t a, uint64_t b, uint64_t value); /* 0: no memory */
void vt_pair_table_drop(struct vt_pair_table *t, uint64_t a, uint64_t b);
void vt_pair_table_free(struct vt_pair_table *t);

/* Messages without a partner so far, in queues by channel: sender, receiver, communicator and tag (MPI 4.1, 3.5:
   messages of one channel do not overtake each other). */

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
