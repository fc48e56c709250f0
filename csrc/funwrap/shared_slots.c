/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdatomic.h>
#include "funwrap.h"

#define FIRST_ROOM 256u /* a power of two */

struct slot_table {
    uint32_t room, n;
    struct slot_entry {
        uintptr_t function; /* 0: free; stored last */
        struct vt_slot_rule rule;
    } entries[];
};

/* Other threads may still read a table that a larger one has replaced, so none is unmapped. */
static struct slot_table *_Atomic table;

/* Returns the entry of a function, or the free entry that it would take. At least half of the entries are free. */
static struct slot_entry *entry_of(struct slot_table *t, uintptr_t function)
{
    uint32_t i = (uint32_t)((uint64_t)function * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    uintptr_t there;
    while ((there = __atomic_load_n(&t->entries[i & (t->room - 1)].function, __ATOMIC_ACQUIRE)) && there != function)
        i++;
    return &t->entries[i & (t->room - 1)];
}

static void enter(struct slot_table *t, uintptr_t function, const struct vt_slot_rule *rule)
{
    struct slot_entry *e = entry_of(t, function);
    e->rule = *rule;
    t->n++;
    __atomic_store_n(&e->function, function, __ATOMIC_RELEASE);
}

/* Returns a table with room for one more entry; NULL: no memory. */
static struct slot_table *roomy(void)
{
    struct slot_table *old = table;
    if (old && 2 * (old->n + 1) <= old->room) return old;
    uint32_t room = old ? 2 * old->room : FIRST_ROOM;
    struct slot_table *t = vt_pages(sizeof *t + room * sizeof *t->entries);
    if (!t) return NULL;
    t->room = room;
    for (uint32_t i = 0; old && i < old->room; i++)
        if (old->entries[i].function) enter(t, old->entries[i].function, &old->entries[i].rule);
    atomic_store(&table, t);
    return t;
}

int vt_slot_set(uintptr_t function, const struct vt_slot_rule *rule)
{
    struct vt_slot_rule *r = vt_slot_find(function);
    struct slot_table *t;
    if (!r) {
        if (!(t = roomy())) return 0;
        enter(t, function, rule);
        return 1;
    }
    if (r->reading == rule->reading && r->order <= rule->order) return 1;
    r->reading = rule->reading;
    r->order = rule->order;
    if (!r->left) r->left = rule->left; /* the count of a limit continues */
    VT_SET(r->how, rule->how);
    return 1;
}

struct vt_slot_rule *vt_slot_find(uintptr_t function)
{
    struct slot_table *t = atomic_load(&table);
    struct slot_entry *e = t ? entry_of(t, function) : NULL;
    return e && e->function ? &e->rule : NULL;
}
