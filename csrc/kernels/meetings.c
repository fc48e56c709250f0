/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the calls in which two processes met last: by a message, or in an N-to-N collective. Several meetings are kept,
   since the replay of a process may be far ahead of a process that waits for this one. */
#include "replayed.h"
#include <stdlib.h>
#include <string.h>

#define OF_COLLECTIVES                                                                                                 \
    (1ull << 63) /* flag in the second number of a pair, if the pair is a location and a communicator */

/* Returns the meetings of a pair, an empty list for a new pair; NULL without memory. */
static struct vt_meetings *meetings_of(struct vt_replayed *r, uint64_t a, uint64_t b)
{
    struct vt_meetings *m = (struct vt_meetings *)(uintptr_t)vt_pair_table_get(&r->met, a, b);
    if (m) return m;
    if (!(m = malloc(sizeof *m))) return NULL;
    *m = (struct vt_meetings){.made = r->meetings};
    r->meetings = m;
    return vt_pair_table_set(&r->met, a, b, (uintptr_t)m) ? m : NULL;
}

static const struct vt_meetings *known_meetings(const struct vt_replayed *r, uint64_t a, uint64_t b)
{
    return (const struct vt_meetings *)(uintptr_t)vt_pair_table_get(&r->met, a, b);
}

static void add(struct vt_meetings *m, uint32_t one, uint32_t other)
{
    const uint32_t at = m->count++ % VT_MEETINGS;
    m->one[at] = one;
    m->other[at] = other;
}

int vt_meet_by_message(struct vt_replayed *r, const struct vt_who *sender, const struct vt_open_call *receiver,
                       int64_t since)
{
    struct vt_meetings *m = meetings_of(r, sender->location, receiver->location);
    if (!m) return 0;
    uint32_t last = (m->count - 1) % VT_MEETINGS;
    if (!m->count || m->other[last] != receiver->call) {
        last = m->count % VT_MEETINGS;
        add(m, sender->call, receiver->call);
    } else if (m->one[last] >= sender->call) return 1;
    m->one[last] = sender->call; /* another message of the same MPI_Waitall */
    m->later[last] = receiver->enter - since;
    return 1;
}

int vt_meet_all(struct vt_replayed *r, struct vt_reader *c, const struct vt_instance *i, uint32_t call)
{
    const uint64_t comm = OF_COLLECTIVES | i->key[0] << 1 | i->key[1] >> 63;
    uint32_t at = 0;
    while (at < c->ncomms && c->comms[at] != comm) at++;
    if (at == c->ncomms) at = c->ncomms < VT_COMMS ? c->ncomms++ : VT_COMMS - 1;
    memmove(c->comms + 1, c->comms, at * sizeof *c->comms);
    c->comms[0] = comm;
    struct vt_meetings *m = meetings_of(r, c->location, comm);
    if (m) add(m, (uint32_t)i->key[1], call);
    return m != NULL;
}

/* Keeps a meeting if no later one is known. own: the waiting location's call; bound: the last call that counts. sent: who
   sent a message; two who send in the same calls both receive there. */
static void take(struct vt_open_call *o, uint32_t own, uint32_t bound, uint32_t partner, uint32_t sent)
{
    if (own > bound || partner >= o->partner.call) return;
    const int is_known = o->meet == own && o->partner_meet == partner;
    if (o->meet != VT_NONE && (own < o->meet || (own == o->meet && partner < o->partner_meet))) return;
    o->meet = own;
    o->partner_meet = partner;
    o->sender = is_known ? o->sender & sent : sent;
}

/* Keeps the latest operation on a communicator that both locations have completed. */
static void take_collective(struct vt_open_call *o, const struct vt_meetings *own, const struct vt_meetings *other)
{
    for (uint32_t i = 1; i <= VT_MEETINGS && i <= own->count; i++) { /* the latest first */
        const uint32_t at = (own->count - i) % VT_MEETINGS, call = own->other[at];
        if (o->meet != VT_NONE && call < o->meet) break;
        if (call >= o->call) continue;
        for (uint32_t k = 1; k <= VT_MEETINGS && k <= other->count; k++) {
            const uint32_t there = (other->count - k) % VT_MEETINGS;
            if (own->one[at] != other->one[there]) continue;
            take(o, call, o->call, other->other[there], 0);
            break;
        }
    }
}

/* A message that the waiting location sent is a meeting unless the partner was late then, too: this may be the cause. */
void vt_find_meeting(const struct vt_replayed *r, const struct vt_reader *c, struct vt_open_call *o)
{
    const uint32_t partner = o->partner.location;
    const struct vt_meetings *m = known_meetings(r, o->location, partner);
    for (uint32_t i = 0; m && i < VT_MEETINGS && i < m->count; i++)
        if (2 * m->later[i] < o->sure - o->enter) take(o, m->one[i], o->call, m->other[i], VT_SENT_BY_WAITING);
    m = known_meetings(r, partner, o->location);
    for (uint32_t i = 0; m && i < VT_MEETINGS && i < m->count; i++)
        if (m->other[i] < o->call) take(o, m->other[i], o->call, m->one[i], VT_SENT_BY_PARTNER);
    for (uint32_t i = 0; i < c->ncomms; i++) {
        const struct vt_meetings *own = known_meetings(r, o->location, c->comms[i]);
        const struct vt_meetings *other = known_meetings(r, partner, c->comms[i]);
        if (own && other) take_collective(o, own, other);
    }
}
