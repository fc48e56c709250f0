/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the waits of MPI calls, and sums them. */
#include "replayed.h"
#include <stdlib.h>
#include <string.h>

#define LATES 1024u /* the most waits of a location for late senders whose order is undecided */

/* ---- Sums ---- */

static struct vt_wait *sum_of(struct vt_replayed *r, const struct vt_wait *w)
{
    struct vt_matcher *o = r->out;
    const uint64_t a = (uint64_t)w->location << 32 | w->partner;
    const uint64_t b = ((uint64_t)w->node << 32 | w->partner_node) * VT_WAIT_ALL_KINDS + w->kind;
    const uint64_t known = vt_pair_table_get(&r->sums, a, b);
    if (known) return &o->waits[known - 1];
    if (!VT_ROOM(o->waits, o->nwaits + 1, &r->waits_room)) return NULL;
    if (!vt_pair_table_set(&r->sums, a, b, o->nwaits + 1)) return NULL;
    o->waits[o->nwaits] = *w;
    o->waits[o->nwaits].ns = 0;
    o->waits[o->nwaits].count = 0;
    return &o->waits[o->nwaits++];
}

/* Raises the shortest time of a wait until at most calls_max calls remain. */
static void shorten(struct vt_matcher *o)
{
    while (o->ncalls > o->calls_max) {
        uint64_t kept = 0;
        o->shortest = o->shortest ? 2 * o->shortest : 2;
        for (uint64_t i = 0; i < o->ncalls; i++)
            if (o->calls[i].ns >= o->shortest) o->calls[kept++] = o->calls[i];
        o->ncalls = kept;
    }
}

static int keep_call(struct vt_replayed *r, const struct vt_part *p, int64_t ns)
{
    struct vt_matcher *o = r->out;
    if (ns < o->shortest) return 1;
    if (o->ncalls >= 2 * o->calls_max) shorten(o);
    if (!VT_ROOM(o->calls, o->ncalls + 1, &r->calls_room)) return 0;
    const struct vt_wait *w = &p->wait;
    o->calls[o->ncalls++] = (struct vt_call_wait){p->enter, p->leave, ns, w->location, w->kind, w->node, w->partner};
    return 1;
}

/* Adds the part of a wait that is in the window. Returns 0 without memory. */
static int add(struct vt_replayed *r, const struct vt_part *p)
{
    const struct vt_matcher *o = r->out;
    const int64_t begin = p->begin > o->from ? p->begin : o->from, end = p->end < o->to ? p->end : o->to;
    const struct vt_location_ends *place = &o->places[p->wait.location];
    if (end <= begin || !place->wanted || p->enter < place->start) return 1;
    struct vt_wait *sum = sum_of(r, &p->wait);
    if (!sum) return 0;
    sum->ns += end - begin;
    sum->count++;
    return !o->want_calls || keep_call(r, p, end - begin);
}

/* ---- Wrong order ---- */

/* Makes room for one more part; with LATES parts the order of the earliest part is final. Returns 0 without memory. */
static int make_room(struct vt_replayed *r, struct vt_reader *c)
{
    if (c->nlates - c->first_late == LATES && !add(r, &c->lates[c->first_late++])) return 0;
    if (c->nlates < c->lates_room) return 1;
    if (c->first_late > c->lates_room / 2) {
        c->nlates -= c->first_late;
        memmove(c->lates, c->lates + c->first_late, c->nlates * sizeof *c->lates);
        c->first_late = 0;
        return 1;
    }
    return VT_ROOM(c->lates, c->nlates + 1, &c->lates_room);
}

static int keep_late(struct vt_replayed *r, struct vt_reader *c, const struct vt_part *late)
{
    if (!make_room(r, c)) return 0;
    uint32_t at = c->nlates++;
    for (; at > c->first_late && c->lates[at - 1].sent > late->sent; at--) c->lates[at] = c->lates[at - 1];
    c->lates[at] = *late;
    return 1;
}

int vt_call_order(struct vt_replayed *r, struct vt_reader *c, int64_t sent)
{
    while (c->nlates > c->first_late && c->lates[c->nlates - 1].sent > sent) {
        struct vt_part *late = &c->lates[--c->nlates];
        late->wait.kind = VT_WAIT_mpi_latesender_wo;
        if (!add(r, late)) return 0;
    }
    return 1;
}

int vt_call_no_more(struct vt_replayed *r, struct vt_reader *c)
{
    int fine = 1;
    for (uint32_t i = c->first_late; fine && i < c->nlates; i++) fine = add(r, &c->lates[i]);
    free(c->lates);
    c->lates = NULL;
    c->first_late = c->nlates = c->lates_room = 0;
    return fine;
}

/* ---- Calls ---- */

int vt_call_enter(struct vt_replayed *r, struct vt_reader *c, const struct vt_mpi_end *e)
{
    if (c->call && c->call_number == e->call) return 1;
    if (!vt_call_leave(r, c)) return 0;
    struct vt_open_call *o = r->spare_calls;
    if (o) r->spare_calls = o->next;
    else {
        if (!(o = malloc(sizeof *o))) return 0;
        o->made = r->calls;
        r->calls = o;
    }
    /* One by one: setting the whole to zero takes longer than all else here. */
    o->reader = c;
    o->enter = o->sure = o->late = e->enter;
    o->leave = e->leave;
    o->tail = INT64_MAX;
    o->sent = INT64_MIN;
    o->node = c->joined[e->node];
    o->location = c->location;
    o->call = e->call;
    o->kind = o->tail_kind = o->sender = 0;
    o->partner.location = o->receiver.location = VT_NONE;
    o->meet = o->partner_meet = VT_NONE;
    o->pending = 1;
    c->call = o;
    c->call_number = e->call;
    return vt_model_enters(r, c, e);
}

void vt_call_waits(struct vt_open_call *o, uint32_t kind, const struct vt_who *partner)
{
    const int64_t until = partner->enter < o->leave ? partner->enter : o->leave;
    if (until <= o->sure) return;
    o->sure = until;
    o->kind = kind;
    o->partner = *partner;
}

static struct vt_part part_of(const struct vt_open_call *o, int64_t begin, int64_t end, uint32_t kind)
{
    struct vt_part p = {begin, end, o->enter, o->leave, o->sent, {.kind = kind, .node = o->node}};
    p.wait.location = o->location;
    p.wait.partner = p.wait.partner_node = VT_NONE;
    return p;
}

/* Logs the wait of a call until `sure`. */
static int keep_cause(struct vt_replayed *r, struct vt_open_call *o)
{
    vt_find_meeting(r, o->reader, o);
    struct vt_waits_of *of = &r->waited[o->location];
    if (!VT_ROOM(of->list, of->count + UINT64_C(1), &of->room)) return 0;
    of->list[of->count++] = (struct vt_waited){
        o->enter, o->sure, o->call, o->node, (uint32_t)r->log.count, (uint16_t)o->kind, (uint16_t)o->sender};
    const struct vt_who *by = &o->partner;
    struct vt_logged *one = vt_log_add(&r->log);
    if (one)
        *one = (struct vt_logged){o->location, o->call, by->location, by->call, by->node, o->meet, o->partner_meet};
    return one != NULL;
}

/* Logs the wait of a call for a late receiver, after the call's other wait. It is not on the critical path. */
static int keep_late_cause(struct vt_replayed *r, struct vt_open_call *o)
{
    o->enter = o->sure;
    o->sure = o->late;
    o->kind = VT_WAIT_mpi_latereceiver;
    o->partner = o->receiver;
    o->meet = o->partner_meet = VT_NONE;
    o->sender = 0;
    r->log.has_late = 1;
    return keep_cause(r, o);
}

int vt_call_known(struct vt_replayed *r, struct vt_open_call *o)
{
    if (--o->pending) return 1;
    int fine = 1;
    if (o->late > o->sure) {
        struct vt_part p = part_of(o, o->sure, o->late, VT_WAIT_mpi_latereceiver);
        p.wait.partner = o->receiver.location;
        p.wait.partner_node = o->receiver.node;
        fine = add(r, &p);
        if (fine && r->waited) fine = keep_late_cause(r, o);
    }
    o->next = r->spare_calls;
    r->spare_calls = o;
    return fine;
}

int vt_call_leave(struct vt_replayed *r, struct vt_reader *c)
{
    struct vt_open_call *o = c->call;
    if (!o) return 1;
    c->call = NULL;
    vt_model_leaves(c, o);
    int fine = 1;
    if (o->sure > o->enter) {
        struct vt_part p = part_of(o, o->enter, o->sure, o->kind);
        p.wait.partner = o->partner.location;
        p.wait.partner_node = o->partner.node;
        fine = o->kind == VT_WAIT_mpi_latesender ? keep_late(r, c, &p) : add(r, &p);
        if (fine && r->waited) fine = keep_cause(r, o);
    }
    const int64_t tail = o->tail > o->sure ? o->tail : o->sure;
    if (fine && tail < o->leave) {
        struct vt_part p = part_of(o, tail, o->leave, o->tail_kind);
        fine = add(r, &p);
        o->sure = o->leave;
    }
    return vt_call_known(r, o) && fine;
}
