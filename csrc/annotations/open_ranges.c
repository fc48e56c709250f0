/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranges that the program ends by an id of its own: a table of the open ones. A slot is free, taken by a thread that
   reads or writes it, or holds a range; an id is in one of the PROBES slots from its hash value on. */
#include "annotations.h"

#define SLOTS 8192u
#define PROBES 64u
enum { FREE, TAKEN, HELD };

struct slot {
    _Atomic uint32_t state;
    struct vt_range_id id;
    uint64_t range;
};

static struct slot slots[SLOTS];

static uint32_t hash_of(const struct vt_range_id *id)
{
    uint64_t h = id->owner;
    for (int i = 0; i < 3; i++) h = (h ^ id->part[i]) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 40);
}

static int is_same(const struct vt_range_id *a, const struct vt_range_id *b)
{
    return a->owner == b->owner && a->part[0] == b->part[0] && a->part[1] == b->part[1] && a->part[2] == b->part[2];
}

static struct slot *take(uint32_t hash, uint32_t i, uint32_t from)
{
    struct slot *s = &slots[(hash + i) % SLOTS];
    return atomic_compare_exchange_strong(&s->state, &from, TAKEN) ? s : NULL;
}

void vt_range_open(struct vt_range_id id, uint32_t region, const uint64_t *attributes, unsigned words)
{
    const uint64_t range = VT_User_range_start_with__(region, attributes, words);
    const uint32_t hash = hash_of(&id);
    for (uint32_t i = 0; i < PROBES && range; i++) {
        struct slot *s = take(hash, i, FREE);
        if (!s) continue;
        s->id = id;
        s->range = range;
        atomic_store(&s->state, HELD);
        return;
    }
    if (!range) return;
    VT_User_range_end__(range);
    vt_warn_left_out("user", "too many annotations are open at one time: the ends of further ones are not recorded");
}

int vt_range_close(struct vt_range_id id)
{
    const uint32_t hash = hash_of(&id);
    for (uint32_t i = 0; i < PROBES; i++) {
        struct slot *s = take(hash, i, HELD);
        if (!s) continue;
        const int found = is_same(&s->id, &id);
        const uint64_t range = s->range;
        atomic_store(&s->state, found ? FREE : HELD);
        if (!found) continue;
        VT_User_range_end__(range);
        return 1;
    }
    return 0;
}
