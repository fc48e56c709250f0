/* SPDX-License-Identifier: BSD-3-Clause */
/* Matches collectives in the replay: the n-th call of each member of a communicator belongs to the n-th operation.
   Blocking and nonblocking collectives have separate counts, since MPI does not match one kind with the other. */
#include "replayed.h"
#include <stdlib.h>
#include <string.h>

#define ASIDE (1ull << 63)

/* ---- Instances ---- */

static uint32_t members_of(const struct vt_replayed *r, uint32_t comm)
{
    uint32_t present = 0;
    const struct vt_mpi_comms *c = r->out->comms;
    for (uint32_t i = c->first[comm]; i < c->first[comm + 1]; i++)
        present += c->members[i] != VT_NONE && r->actors[c->members[i]].count;
    return present;
}

static struct vt_instance *new_instance(struct vt_replayed *r, uint64_t comm, uint64_t number)
{
    struct vt_instance *i = r->spare_instances;
    if (i) r->spare_instances = i->next;
    else {
        if (!(i = malloc(sizeof *i))) return NULL;
        i->made = r->made_instances;
        r->made_instances = i;
    }
    *i = (struct vt_instance){.key = {comm, number},
                              .last.enter = INT64_MIN,
                              .leave = INT64_MAX,
                              .ideal = INT64_MIN,
                              .model = INT64_MIN,
                              .waiter = VT_NONE,
                              .made = i->made};
    const uint64_t known = vt_pair_table_get(&r->sizes, comm, 0);
    i->expected = known ? (uint32_t)known - 1 : members_of(r, (uint32_t)comm);
    if (!known && !vt_pair_table_set(&r->sizes, comm, 0, (uint64_t)i->expected + 1)) return NULL;
    return i;
}

/* Returns the operation of a process's next call. */
static struct vt_instance *next_instance(struct vt_replayed *r, uint32_t process, const struct vt_mpi_end *e)
{
    const uint64_t aside = e->what & VT_CALL_ASIDE ? ASIDE : 0, who = (uint64_t)process << 32 | e->comm;
    uint64_t *count = vt_pair_table_find(&r->counts, who, aside);
    const uint64_t number = count ? ++*count : 1;
    if (!count && !vt_pair_table_set(&r->counts, who, aside, number)) return NULL;
    const uint64_t comm = e->comm, turn = number | aside;
    struct vt_instance *i = (struct vt_instance *)(uintptr_t)vt_pair_table_get(&r->instances, comm, turn);
    if (i) return i;
    if (!(i = new_instance(r, comm, turn))) return NULL;
    return vt_pair_table_set(&r->instances, comm, turn, (uintptr_t)i) ? i : NULL;
}

/* Counts the members that have ended without this operation. */
static uint32_t gone(const struct vt_replayed *r, struct vt_instance *i)
{
    const struct vt_mpi_comms *c = r->out->comms;
    const uint64_t comm = i->key[0], aside = i->key[1] & ASIDE, turn = i->key[1] & ~ASIDE;
    if (i->gone_of == r->nended) return i->gone;
    i->gone_of = r->nended;
    i->gone = 0;
    for (uint32_t k = c->first[comm]; k < c->first[comm + 1]; k++) {
        const uint32_t process = c->members[k];
        if (process == VT_NONE || r->actors[process].state != VT_ACTOR_ENDED || !r->actors[process].count) continue;
        i->gone += vt_pair_table_get(&r->counts, (uint64_t)process << 32 | comm, aside) < turn;
    }
    return i->gone;
}

static int is_complete(const struct vt_replayed *r, struct vt_instance *i)
{
    return i->released || i->begun >= i->expected || i->begun + gone(r, i) >= i->expected;
}

void vt_collectives_gone(struct vt_replayed *r)
{
    for (uint64_t k = 0; k < r->instances.size; k++) {
        struct vt_instance *i = (struct vt_instance *)(uintptr_t)r->instances.entries[k].value;
        if (i && i->waiter != VT_NONE && is_complete(r, i)) vt_wake_list(r, &i->waiter);
    }
}

/* ---- The start of a call ---- */

/* Handles the start of a call of a prefix operation (Scan): a rank waits for all lower ranks. */
static int begins_in_order(struct vt_replayed *r, struct vt_instance *i, const struct vt_reader *c,
                           const struct vt_mpi_end *e, int64_t ideal)
{
    const struct vt_mpi_comms *comms = r->out->comms;
    const uint32_t size = comms->remote[i->key[0]] - comms->first[i->key[0]];
    if (!i->ranks && !(i->ranks = calloc(size + 1, sizeof *i->ranks))) return 0;
    if (e->peer >= size) return 1;
    i->ranks[e->peer] = (struct vt_rank){vt_who_calls(c, e), ideal, 1};
    for (; i->known < size && i->ranks[i->known].begun; i->known++) {
        struct vt_rank *k = &i->ranks[i->known];
        if (!i->known) continue;
        const int64_t higher = k->ideal > k[-1].ideal ? k->ideal : k[-1].ideal;
        const int64_t model = k->who.model > k[-1].who.model ? k->who.model : k[-1].who.model;
        if (k[-1].who.enter >= k->who.enter) *k = k[-1];
        k->who.model = model;
        k->ideal = higher;
    }
    vt_wake_list(r, &i->waiter);
    return 1;
}

/* For equal times the lower location counts, so the result does not depend on the order of the replay. */
static int enters_later(const struct vt_who *one, const struct vt_who *other)
{
    return one->enter > other->enter || (one->enter == other->enter && one->location < other->location);
}

int vt_collective_begins(struct vt_replayed *r, uint32_t process, struct vt_reader *c, const struct vt_mpi_end *e,
                         struct vt_instance **instance)
{
    struct vt_instance *i = *instance = next_instance(r, process, e);
    if (!i) return -1;
    const uint32_t flow = VT_CALL_FLOW(e->what);
    const struct vt_who who = vt_who_calls(c, e);
    const int64_t ideal = vt_ideal_at(r, c, e);
    i->begun++;
    if (flow == VT_CALL_PREFIX && !begins_in_order(r, i, c, e, ideal)) return -1;
    if (enters_later(&who, &i->last)) i->last = who;
    if (ideal > i->ideal) i->ideal = ideal;
    if (who.model > i->model) i->model = who.model;
    if (e->leave < i->leave) i->leave = e->leave;
    if (e->peer == process && flow != VT_CALL_PREFIX) {
        i->has_root = 1;
        i->root = who;
        i->root_ideal = ideal;
        vt_wake_list(r, &i->waiter);
    }
    if (is_complete(r, i)) vt_wake_list(r, &i->waiter);
    return 1;
}

/* ---- The end of a call ---- */

static void drop(struct vt_replayed *r, struct vt_instance *i)
{
    vt_pair_table_drop(&r->instances, i->key[0], i->key[1]);
    free(i->ranks);
    i->ranks = NULL;
    i->next = r->spare_instances;
    r->spare_instances = i;
}

/* Records that a call waits for a partner. */
static void wait_for(struct vt_reader *c, const struct vt_mpi_end *e, const struct vt_who *partner)
{
    vt_model_waits(c, partner->model);
    vt_call_waits(c->call, VT_CALL_WAIT(e->what), partner);
}

static void takes_all(struct vt_reader *c, const struct vt_mpi_end *e, const struct vt_instance *i)
{
    const uint32_t kind = VT_CALL_WAIT(e->what);
    wait_for(c, e, &i->last);
    vt_ideal_after(c, i->ideal);
    vt_model_waits(c, i->model);
    if (e->what & VT_CALL_ASIDE || (kind != VT_WAIT_mpi_barrier_wait && kind != VT_WAIT_mpi_wait_nxn)) return;
    c->call->tail = i->leave > i->last.enter ? i->leave : i->last.enter;
    c->call->tail_kind = kind == VT_WAIT_mpi_barrier_wait ? VT_WAIT_mpi_barrier_completion : VT_WAIT_mpi_nxn_completion;
}

/* Records that the call of a reader has got the data of a partner, as by a message. Returns 1, or -1 without memory. */
static int meets(struct vt_replayed *r, const struct vt_reader *c, const struct vt_who *partner)
{
    if (!r->waited || partner->location == c->location) return 1;
    return vt_meet_by_message(r, partner, c->call, partner->enter) ? 1 : -1;
}

/* Records the waits of a call. Returns 1, 0 if the operation's other calls are not known yet, or -1 without memory. */
static int takes(struct vt_replayed *r, uint32_t process, struct vt_reader *c, const struct vt_mpi_end *e,
                 struct vt_instance *i)
{
    switch (VT_CALL_FLOW(e->what)) {
    case VT_CALL_ALL:
        if (!is_complete(r, i)) return 0;
        if (!i->released) takes_all(c, e, i);
        return 1;
    case VT_CALL_FROM_ROOT:
        if (e->peer == process || e->peer == VT_NONE) return 1;
        if (!i->has_root && !is_complete(r, i)) return 0;
        if (!i->has_root) return 1;
        wait_for(c, e, &i->root);
        vt_ideal_after(c, i->root_ideal);
        return meets(r, c, &i->root);
    case VT_CALL_TO_ROOT:
        if (e->peer != process) return 1;
        if (!is_complete(r, i)) return 0;
        wait_for(c, e, &i->last);
        vt_model_waits(c, i->model);
        vt_ideal_after(c, i->ideal);
        return meets(r, c, &i->last);
    case VT_CALL_PREFIX: {
        if (!i->ranks || e->peer >= i->known) return e->peer == VT_NONE || is_complete(r, i);
        const struct vt_rank *k = &i->ranks[e->peer];
        wait_for(c, e, &k->who);
        vt_ideal_after(c, k->ideal);
        return 1;
    }
    default: return 1;
    }
}

int vt_collective_ends(struct vt_replayed *r, uint32_t actor, struct vt_reader *c, const struct vt_mpi_end *e,
                       struct vt_instance *i)
{
    if (!vt_call_enter(r, c, e)) return -1;
    vt_ideal_at(r, c, e);
    const int done = takes(r, actor, c, e, i);
    if (done <= 0) return done < 0 ? -1 : vt_sleep_in(r, actor, &i->waiter, i, VT_NONE);
    if (r->waited && VT_CALL_FLOW(e->what) == VT_CALL_ALL && !vt_meet_all(r, c, i, e->call)) return -1;
    r->out->collectives++;
    /* In a damaged archive non-members may take part: each process in the operation still refers to the instance. */
    if (++i->ended >= i->expected && i->ended >= i->begun) drop(r, i);
    return 1;
}
