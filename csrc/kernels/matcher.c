/* SPDX-License-Identifier: BSD-3-Clause */
/* The replay: processes take turns, and sends are matched with receives. The order of the turns does not matter. */
#include "replayed.h"
#include <stdlib.h>
#include <string.h>

#define BATCH VT_PACKED_ROWS /* the least number of ends of a location in memory */
#define BATCH_MAX 1024u
#define BATCHES (1u << 17) /* ends of all locations in memory; more only with many locations, which have BATCH each */

#define AHEAD 6u /* how many ends ahead an end is prefetched */

enum { OF_MESSAGE, OF_INSTANCE }; /* kinds of objects by their place in a location, to which SENT, DONE and END refer */

/* ---- Ends in order ---- */

/* Reads packed ends of a location from the file, from a block on. Returns 0 on failure. */
static int read_blocks(const struct vt_location_ends *place, const struct vt_end_layout *layout, uint64_t block,
                       uint64_t n, unsigned char *to)
{
    const uint64_t blocks = (n + VT_PACKED_ROWS - 1) / VT_PACKED_ROWS;
    const uint64_t bytes = blocks * VT_END_HEAD + n * layout->row + VT_PACKED_SLACK;
    return vt_read_all((int)place->file, to, bytes, place->offset + block * layout->block);
}

/* Reads the next blocks of a location from the file. Returns 0 on failure. */
static int fill(struct vt_replayed *r, struct vt_reader *c)
{
    const uint64_t block = c->next / VT_PACKED_ROWS, left = c->place->count - block * VT_PACKED_ROWS;
    const uint64_t room = (uint64_t)r->batch / VT_PACKED_ROWS * c->layout.block + VT_PACKED_SLACK;
    if (!c->blocks && !(c->blocks = malloc(room))) r->failed = VT_MATCH_NO_MEMORY;
    if (!c->blocks) return 0;
    c->from = block * VT_PACKED_ROWS;
    c->until = c->from + (left < r->batch ? left : r->batch);
    if (!read_blocks(c->place, &c->layout, block, c->until - c->from, c->blocks)) r->failed = VT_MATCH_NO_FILE;
    return !r->failed;
}

/* Returns the next end of a location, NULL after the last end or after an error. */
static inline struct vt_mpi_end *look(struct vt_replayed *r, struct vt_reader *c)
{
    if (c->is_read) return &c->end;
    if (c->next >= c->place->count || r->failed) return NULL;
    const unsigned char *blocks = (const unsigned char *)(uintptr_t)c->place->ends;
    if (!blocks) {
        if (c->next >= c->until && !fill(r, c)) return NULL;
        blocks = c->blocks;
    }
    blocks += (c->next - c->from) / VT_PACKED_ROWS * c->layout.block;
    vt_end_unpack(&c->layout, blocks, c->next, &c->end);
    c->is_read = 1;
    /* processes take turns: the processor sees no sequence */
    __builtin_prefetch(blocks + VT_END_HEAD + (c->next % VT_PACKED_ROWS + AHEAD) * c->layout.row);
    return &c->end;
}

static void drop_ends(struct vt_reader *c)
{
    free(c->blocks);
    c->blocks = NULL;
}

int vt_ends_read(const struct vt_location_ends *place, uint64_t first, uint64_t n, struct vt_mpi_end *to)
{
    const struct vt_end_layout layout = vt_end_layout(place->ends_widths);
    unsigned char room[VT_END_HEAD + VT_PACKED_ROWS * sizeof *to + VT_PACKED_SLACK];
    for (uint64_t i = first; i < first + n; i++) {
        const uint64_t block = i / VT_PACKED_ROWS, left = place->count - block * VT_PACKED_ROWS;
        const unsigned char *here = (const unsigned char *)(uintptr_t)place->ends + block * layout.block;
        if (!place->ends) {
            const int is_new = i == first || i % VT_PACKED_ROWS == 0;
            const uint64_t rows = left < VT_PACKED_ROWS ? left : VT_PACKED_ROWS;
            if (is_new && !read_blocks(place, &layout, block, rows, room)) return VT_MATCH_NO_FILE;
            here = room;
        }
        vt_end_unpack(&layout, here, i, to++);
    }
    return VT_MATCH_OK;
}

/* Returns the time at which an end may be replayed. The threads of a process are replayed by this time. */
static int64_t moment(const struct vt_reader *c, const struct vt_mpi_end *e)
{
    switch (e->what & VT_CALL_KIND) {
    case VT_CALL_SEND:
    case VT_CALL_POST:
    case VT_CALL_BEGIN: return e->enter;
    case VT_CALL_RECEIVE:
    case VT_CALL_COLLECTIVE: return c->phase ? e->leave : e->enter;
    default: return e->leave;
    }
}

/* Returns the actor's reader with the earliest next end, NULL if no reader has another end. */
static struct vt_reader *next_reader(struct vt_replayed *r, const struct vt_actor *a)
{
    struct vt_reader *found = NULL;
    int64_t earliest = 0;
    if (a->count == 1) return look(r, &r->readers[a->first]) ? &r->readers[a->first] : NULL;
    for (uint32_t k = a->first; k < a->first + a->count; k++) {
        const struct vt_mpi_end *e = look(r, &r->readers[k]);
        if (!e) continue;
        const int64_t when = moment(&r->readers[k], e);
        if (found && when >= earliest) continue;
        found = &r->readers[k];
        earliest = when;
    }
    return found;
}

/* Returns the useful time at a moment between the latest call and a call that starts at `enter` after `useful` ns. */
static int64_t useful_at(const struct vt_reader *c, int64_t moment, int64_t enter, int64_t useful)
{
    const int64_t then = useful - (enter - moment);
    return then < c->useful ? c->useful : then;
}

/* Returns the useful time from the start of the window to a call. */
static int64_t in_window(const struct vt_matcher *o, struct vt_reader *c, int64_t enter, int64_t useful)
{
    int64_t found = 0;
    if (enter >= o->from && !c->has_base) {
        c->base = o->from > -VT_READ_LATEST ? useful_at(c, o->from, enter, useful) : 0;
        c->has_base = 1;
    }
    if (enter > o->to && !c->has_top) {
        c->top = useful_at(c, o->to, enter, useful);
        c->has_top = 1;
    }
    if (c->has_base) found = (c->has_top ? c->top : useful) - c->base;
    c->useful = useful;
    return found > 0 ? found : 0;
}

int64_t vt_ideal_at(struct vt_replayed *r, struct vt_reader *c, const struct vt_mpi_end *e)
{
    const int64_t useful = in_window(r->out, c, e->enter, e->useful);
    c->ideal += useful - c->ideal_useful;
    c->ideal_useful = useful;
    return c->ideal;
}

void vt_ideal_after(struct vt_reader *c, int64_t ideal)
{
    if (ideal > c->ideal && !c->has_top) c->ideal = ideal;
}

struct vt_who vt_who_calls(const struct vt_reader *c, const struct vt_mpi_end *e)
{
    return (struct vt_who){e->enter, c->modelled.enter, c->location, c->joined[e->node], e->call};
}

/* ---- Actors ---- */

static void make_ready(struct vt_replayed *r, uint32_t actor)
{
    r->actors[actor].state = VT_ACTOR_READY;
    r->actors[actor].next = r->ready;
    r->ready = actor;
}

void vt_wake_list(struct vt_replayed *r, uint32_t *list)
{
    while (*list != VT_NONE) {
        const uint32_t actor = *list;
        *list = r->actors[actor].next;
        make_ready(r, actor);
    }
}

int vt_sleep_in(struct vt_replayed *r, uint32_t actor, uint32_t *list, void *waits, uint32_t peer)
{
    struct vt_actor *a = &r->actors[actor];
    a->state = VT_ACTOR_BLOCKED;
    a->waits = waits;
    a->peer = peer;
    a->next = *list;
    *list = actor;
    return 0;
}

/* ---- Ends that refer to earlier ones ---- */

static struct vt_opened *opened_at(struct vt_reader *c, uint64_t key) { return &c->opened[(key >> 1) % VT_OPENED]; }

static uint64_t key_of(uint64_t place, uint32_t what) { return place << 1 | what; }

/* Keeps an object for a later end. The few objects of a location that are open at a time mostly need no table. */
static int remember(struct vt_replayed *r, struct vt_reader *c, uint32_t what, void *object)
{
    const uint64_t key = key_of(c->next, what);
    struct vt_opened *o = opened_at(c, key);
    if (o->object) return vt_pair_table_set(&r->open, c->location, key, (uintptr_t)object);
    *o = (struct vt_opened){key, object};
    return 1;
}

static void *known_by(struct vt_replayed *r, struct vt_reader *c, uint32_t place, uint32_t what)
{
    r->out->crossing += place < c->place->begin;
    const uint64_t key = key_of(place, what);
    const struct vt_opened *o = opened_at(c, key);
    if (o->object && o->key == key) return o->object;
    return (void *)(uintptr_t)vt_pair_table_get(&r->open, c->location, key);
}

static void forget(struct vt_replayed *r, struct vt_reader *c, uint32_t place, uint32_t what)
{
    const uint64_t key = key_of(place, what);
    struct vt_opened *o = opened_at(c, key);
    if (o->object && o->key == key) o->object = NULL;
    else vt_pair_table_drop(&r->open, c->location, key);
}

/* ---- Messages ---- */

static struct vt_message *new_message(struct vt_replayed *r)
{
    struct vt_message *m = (struct vt_message *)r->spare_messages;
    if (m) r->spare_messages = r->spare_messages->next;
    else {
        if (!(m = malloc(sizeof *m))) return NULL;
        m->made = r->messages;
        r->messages = m;
    }
    /* One by one: setting the whole to zero takes longer than all else here. from, to and ideal are set before use. */
    m->link.next = NULL;
    m->sender = NULL;
    m->waiter = VT_NONE;
    m->is_sent = m->is_posted = m->is_received = m->is_completed = m->blocks = m->is_met = 0;
    return m;
}

static void drop_message(struct vt_replayed *r, struct vt_message *m)
{
    if (!m->is_received || !m->is_completed || !m->is_sent) return;
    m->link.next = r->spare_messages;
    r->spare_messages = &m->link;
}

/* Handles a message whose send and posted receive are both known. */
static int late_receiver(struct vt_replayed *r, struct vt_message *m)
{
    struct vt_open_call *o = m->sender;
    m->sender = NULL;
    m->is_completed = 1;
    m->is_met = m->blocks && o->leave > m->to.enter && m->to.enter > o->enter;
    if (o->leave > m->to.enter && m->to.enter > o->late) {
        o->late = m->to.enter;
        o->receiver = m->to;
    }
    return vt_call_known(r, o);
}

/* Lets the sender wait for the receiver in the call of a reader. */
static int waits_for_receiver(struct vt_replayed *r, struct vt_reader *c, struct vt_message *m)
{
    c->call->pending++;
    m->sender = c->call;
    return !m->is_posted || late_receiver(r, m);
}

static int send(struct vt_replayed *r, uint32_t process, struct vt_reader *c, const struct vt_mpi_end *e)
{
    struct vt_queue *q = vt_channels_get(&r->channels, process, e->peer, e->comm, e->tag);
    if (!q || !vt_call_enter(r, c, e)) return -1;
    const int is_posted = q->first && !((const struct vt_message *)q->first)->is_sent;
    struct vt_message *m = is_posted ? (struct vt_message *)vt_queue_take(q) : new_message(r);
    if (!m) return -1;
    m->from = vt_who_calls(c, e);
    m->ideal = vt_ideal_at(r, c, e);
    m->is_sent = 1;
    if (!is_posted) vt_queue_append(q, &m->link);
    m->is_completed = !(e->what & (VT_CALL_BLOCKS | VT_CALL_COMPLETES));
    m->blocks = (e->what & VT_CALL_BLOCKS) != 0;
    if (m->blocks && !waits_for_receiver(r, c, m)) return -1;
    if (e->what & VT_CALL_COMPLETES && !remember(r, c, OF_MESSAGE, m)) return -1;
    vt_wake_list(r, &m->waiter);
    drop_message(r, m);
    return 1;
}

/* Puts a receive into the queue of its channel. */
static struct vt_message *post(struct vt_replayed *r, uint32_t process, struct vt_reader *c, const struct vt_mpi_end *e)
{
    struct vt_queue *q = vt_channels_get(&r->channels, e->peer, process, e->comm, e->tag);
    if (!q) return NULL;
    const int is_sent = q->first && ((const struct vt_message *)q->first)->is_sent;
    struct vt_message *m = is_sent ? (struct vt_message *)vt_queue_take(q) : new_message(r);
    if (!m) return NULL;
    m->to = vt_who_calls(c, e);
    m->is_posted = 1;
    if (!is_sent) vt_queue_append(q, &m->link);
    return !m->sender || late_receiver(r, m) ? m : NULL;
}

/* Counts a message that was sent at a time and received at an end. */
static int count_message(struct vt_replayed *r, struct vt_reader *c, const struct vt_mpi_end *e, int64_t sent)
{
    struct vt_matcher *o = r->out;
    o->messages++;
    if (sent > e->leave) {
        o->reversed++;
        if (sent - e->leave > o->most) o->most = sent - e->leave;
    }
    if (!vt_call_order(r, c, sent)) return 0;
    if (sent > c->call->sent) c->call->sent = sent;
    return 1;
}

/* Receives a posted message in the call of an end. */
static int receive(struct vt_replayed *r, uint32_t actor, struct vt_reader *c, const struct vt_mpi_end *e,
                   struct vt_message *m)
{
    if (!vt_call_enter(r, c, e)) return -1;
    const int lost = e->peer == VT_NONE || r->actors[e->peer].state == VT_ACTOR_ENDED || !r->actors[e->peer].count;
    if (!m->is_sent && !lost && !m->is_received) return vt_sleep_in(r, actor, &m->waiter, m, e->peer);
    vt_ideal_at(r, c, e);
    const int released = m->is_received;
    m->is_received = 1;
    if (!m->is_sent || released) {
        r->out->unmatched_receives++;
        return 1; /* stays in the queue: a later send matches this receive, not the next one */
    }
    const uint32_t kind = VT_CALL_WAIT(e->what);
    if (kind == VT_WAIT_mpi_latesender && !count_message(r, c, e, m->from.enter)) return -1;
    vt_call_waits(c->call, kind, &m->from);
    if (r->waited && !vt_meet_by_message(r, &m->from, c->call, m->is_met ? m->to.enter : m->from.enter)) return -1;
    vt_ideal_after(c, m->ideal);
    vt_model_waits(c, m->from.model);
    drop_message(r, m);
    return 1;
}

/* ---- One end ---- */

static int sent(struct vt_replayed *r, struct vt_reader *c, const struct vt_mpi_end *e)
{
    struct vt_message *m = known_by(r, c, e->tag, OF_MESSAGE);
    if (!m) return 1;
    forget(r, c, e->tag, OF_MESSAGE);
    if (!vt_call_enter(r, c, e)) return -1;
    vt_ideal_at(r, c, e);
    if (!waits_for_receiver(r, c, m)) return -1;
    drop_message(r, m);
    return 1;
}

/* Replays a blocking receive or collective: its start, then its end, from the same place. */
static int blocking(struct vt_replayed *r, uint32_t process, struct vt_reader *c, const struct vt_mpi_end *e)
{
    const int message = (e->what & VT_CALL_KIND) == VT_CALL_RECEIVE;
    if (!c->phase) {
        c->phase = 1;
        if (!vt_call_enter(r, c, e)) return -1;
        if (message && !(c->posted = post(r, process, c, e))) return -1;
        if (!message && vt_collective_begins(r, process, c, e, &c->instance) < 0) return -1;
        if (r->actors[process].count > 1) return 2; /* another thread may be next */
    }
    const int done = message ? receive(r, process, c, e, c->posted) : vt_collective_ends(r, process, c, e, c->instance);
    if (done == 1) c->phase = 0;
    return done;
}

/* Replays one end. Returns 1: the next end follows, 2: another reader may follow, 0: the actor waits, -1: no memory. */
static int replay(struct vt_replayed *r, uint32_t process, struct vt_reader *c, const struct vt_mpi_end *e)
{
    switch (e->what & VT_CALL_KIND) {
    case VT_CALL_SEND: return send(r, process, c, e);
    case VT_CALL_SENT: return sent(r, c, e);
    case VT_CALL_RECEIVE:
    case VT_CALL_COLLECTIVE: return blocking(r, process, c, e);
    case VT_CALL_POST: {
        struct vt_message *m = vt_call_enter(r, c, e) ? post(r, process, c, e) : NULL;
        return m && remember(r, c, OF_MESSAGE, m) ? 1 : -1;
    }
    case VT_CALL_DONE: {
        struct vt_message *m = known_by(r, c, e->tag, OF_MESSAGE);
        const int done = m ? receive(r, process, c, e, m) : 1;
        if (done == 1) forget(r, c, e->tag, OF_MESSAGE);
        return done;
    }
    case VT_CALL_BEGIN: {
        struct vt_instance *i = NULL;
        if (!vt_call_enter(r, c, e) || vt_collective_begins(r, process, c, e, &i) < 0) return -1;
        return remember(r, c, OF_INSTANCE, i) ? 1 : -1;
    }
    case VT_CALL_END: {
        struct vt_instance *i = known_by(r, c, e->tag, OF_INSTANCE);
        const int done = i ? vt_collective_ends(r, process, c, e, i) : 1;
        if (done == 1) forget(r, c, e->tag, OF_INSTANCE);
        return done;
    }
    default: return 1;
    }
}

/* ---- All actors ---- */

static void finish(struct vt_replayed *r, struct vt_reader *c)
{
    struct vt_location_ends *place = &r->out->places[c->location];
    const struct vt_mpi_end end = {.enter = place->last, .useful = place->useful};
    place->ideal = vt_ideal_at(r, c, &end);
    place->in_window = c->ideal_useful;
}

/* Ends an actor that has no further ends, and wakes the actors that wait for this actor. */
static int end_actor(struct vt_replayed *r, uint32_t process)
{
    struct vt_actor *a = &r->actors[process];
    a->state = VT_ACTOR_ENDED;
    r->nended++;
    for (uint32_t k = a->first; k < a->first + a->count; k++) {
        struct vt_reader *c = &r->readers[k];
        if (!vt_call_leave(r, c) || !vt_call_no_more(r, c)) return 0;
        finish(r, c);
        if (!vt_model_ends(r, c)) return 0;
        drop_ends(c);
    }
    for (uint64_t i = 0; i < r->out->comms->nprocesses; i++) {
        struct vt_actor *other = &r->actors[i];
        if (other->state == VT_ACTOR_BLOCKED && other->peer == process)
            vt_wake_list(r, &((struct vt_message *)other->waits)->waiter);
    }
    vt_collectives_gone(r);
    return 1;
}

static int go_on(struct vt_replayed *r, uint32_t process)
{
    for (struct vt_reader *c; (c = next_reader(r, &r->actors[process]));) {
        const int done = replay(r, process, c, &c->end);
        if (done <= 0) return done == 0;
        if (done == 1) {
            c->next++;
            c->is_read = 0;
        }
    }
    return !r->failed && end_actor(r, process);
}

/* Resolves a deadlock: the blocked actor with the earliest end stops waiting. Returns 0 if all actors have ended. */
static int release(struct vt_replayed *r)
{
    struct vt_actor *found = NULL;
    int64_t earliest = 0;
    for (uint64_t i = 0; i < r->out->comms->nprocesses; i++) {
        struct vt_actor *a = &r->actors[i];
        if (a->state != VT_ACTOR_BLOCKED) continue;
        const struct vt_reader *c = next_reader(r, a);
        if (!c) continue;
        const int64_t when = c->end.leave;
        if (found && when >= earliest) continue;
        found = a;
        earliest = when;
    }
    if (!found) return 0;
    r->out->released++;
    if (found->peer != VT_NONE) {
        struct vt_message *m = found->waits;
        m->is_received = 1;
        vt_wake_list(r, &m->waiter);
    } else {
        struct vt_instance *i = found->waits;
        i->released = 1;
        vt_wake_list(r, &i->waiter);
    }
    return 1;
}

static int run(struct vt_replayed *r)
{
    const int no_memory = VT_MATCH_NO_MEMORY;
    do {
        while (r->ready != VT_NONE) {
            const uint32_t process = r->ready;
            r->ready = r->actors[process].next;
            if (!go_on(r, process)) return r->failed ? r->failed : no_memory;
        }
    } while (release(r));
    return r->failed;
}

/* Makes the readers of all locations with ends, by process. */
static int prepare(struct vt_replayed *r)
{
    const struct vt_matcher *o = r->out;
    const uint64_t processes = o->comms->nprocesses;
    r->actors = calloc(processes + 1, sizeof *r->actors);
    r->readers = calloc(o->nplaces + 1, sizeof *r->readers);
    if (o->want_causes) r->waited = calloc(o->nplaces + 1, sizeof *r->waited);
    if (!r->actors || !r->readers || (o->want_causes && !r->waited)) return 0;
    for (uint64_t k = 0; k < o->nplaces; k++) {
        const struct vt_location_ends *p = &o->places[k];
        struct vt_reader alone = {.place = p, .location = (uint32_t)k};
        if (p->count && p->process < processes) r->actors[p->process].count++, r->nreaders++;
        else finish(r, &alone);
    }
    for (uint64_t i = 0, first = 0; i < processes; first += r->actors[i++].count) r->actors[i].first = (uint32_t)first;
    for (uint64_t i = 0; i < processes; i++) r->actors[i].count = 0;
    for (uint64_t k = 0; k < o->nplaces; k++) {
        const struct vt_location_ends *p = &o->places[k];
        if (!p->count || p->process >= processes) continue;
        struct vt_actor *a = &r->actors[p->process];
        r->readers[a->first + a->count++] = (struct vt_reader){.place = p,
                                                               .joined = (const uint32_t *)(uintptr_t)p->joined,
                                                               .location = (uint32_t)k,
                                                               .next = p->begin,
                                                               .layout = vt_end_layout(p->ends_widths)};
        struct vt_modelled *m = &r->readers[a->first + a->count - 1].modelled;
        m->leave = m->recorded = p->first;
    }
    const uint32_t share = r->nreaders ? BATCHES / r->nreaders : BATCH;
    r->batch = (share < BATCH ? BATCH : share > BATCH_MAX ? BATCH_MAX : share) / BATCH * BATCH;
    r->ready = VT_NONE;
    for (uint64_t i = processes; i--;) {
        r->actors[i].state = VT_ACTOR_ENDED;
        if (r->actors[i].count) make_ready(r, (uint32_t)i);
    }
    return 1;
}

/* Counts the sends and receives without a partner, and the incomplete collectives. */
static void count_left(struct vt_replayed *r)
{
    for (uint64_t k = 0; k < r->channels.queues.size; k++) {
        const struct vt_queue *q = vt_channels_at(&r->channels, k);
        for (const struct vt_link *one = q ? q->first : NULL; one; one = one->next) {
            const struct vt_message *m = (const struct vt_message *)one;
            r->out->unmatched_sends += m->is_sent;
            r->out->unmatched_receives += !m->is_sent && !m->is_received;
        }
    }
    for (uint64_t k = 0; k < r->instances.size; k++) {
        const struct vt_instance *i = (const struct vt_instance *)(uintptr_t)r->instances.entries[k].value;
        if (i) r->out->unmatched_collectives++;
    }
}

#define FREE_ALL(type, first)                                                                                          \
    for (struct type *one = (first), *made; one; one = made) {                                                         \
        made = one->made;                                                                                              \
        free(one);                                                                                                     \
    }

static void free_all(struct vt_replayed *r)
{
    vt_channels_free(&r->channels);
    for (struct vt_instance *i = r->made_instances; i; i = i->made) free(i->ranks);
    for (uint32_t k = 0; r->readers && k < r->nreaders; k++) {
        drop_ends(&r->readers[k]);
        free(r->readers[k].lates);
        free(r->readers[k].modelled.times);
    }
    FREE_ALL(vt_message, r->messages)
    FREE_ALL(vt_instance, r->made_instances)
    FREE_ALL(vt_open_call, r->calls)
    FREE_ALL(vt_meetings, r->meetings)
    struct vt_pair_table *tables[] = {&r->open, &r->instances, &r->counts, &r->sums, &r->sizes, &r->met};
    for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++) vt_pair_table_free(tables[i]);
    for (uint64_t k = 0; r->waited && k < r->out->nplaces; k++) free(r->waited[k].list);
    free(r->waited);
    free(r->actors);
    free(r->readers);
}

VT_EXPORT int vt_match(struct vt_matcher *m)
{
    struct vt_replayed r = {.out = m};
    const int logs = !m->want_causes || (vt_log_open(&r.log, (int)m->log_file) && vt_times_open(&r.times, m->nplaces));
    int code = logs && prepare(&r) ? run(&r) : VT_MATCH_NO_MEMORY;
    if (!code && m->want_causes) code = vt_find_causes(&r);
    vt_log_close(&r.log);
    vt_times_close(&r.times);
    count_left(&r);
    free_all(&r);
    return code;
}

VT_EXPORT void vt_match_free(struct vt_matcher *m)
{
    void *all[] = {m->waits, m->calls, m->critical, m->delays, m->totals};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    m->waits = NULL;
    m->calls = NULL;
    m->critical = NULL;
    m->delays = NULL;
    m->totals = NULL;
}
