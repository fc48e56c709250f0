/* SPDX-License-Identifier: BSD-3-Clause */
/* Root causes of waits (Boehme, Geimer, Wolf, Arnold, "Identifying the root causes of wait states in large-scale
   parallel applications", 2010). A call waits because its partner took longer since the two met last. The wait is the
   cost of the call paths in which the partner spent more time, and of the partner's own waits if the partner waited
   more. The cost of these waits passes on to their partners. Waits are visited from the last to the first, so a visited
   wait has its full cost. */
#include "replayed.h"
#include <stdlib.h>

#define LOOK_BACK 4096u /* the most times of a location, and the most waits, to compare */
#define AHEAD 8u /* how many waits ahead the times are prefetched */

struct delays {
    struct vt_replayed *r;
    double *costs; /* of each wait in the log: the cost of later waits that this wait caused, ns */
    uint32_t *before; /* by location: number of its waits before the current one */
    uint32_t *order; /* numbers in the log, each after the waits on which it depends; NULL: the order of the log */
    int64_t *more; /* by call path: the partner's time minus the waiting location's time, ns */
    uint32_t *touched;
    uint8_t *is_touched;
    uint64_t ntouched, room;
    struct vt_pair_table known;
    const struct vt_waited *waits; /* the partner's waits */
    uint32_t nwaits;
    int failed; /* reading the log failed */
};

/* A wait, and its partner. */
struct wait {
    const struct vt_waited *of;
    struct vt_logged by;
};

static void touch(struct delays *d, uint32_t node, int64_t ns)
{
    d->touched[d->ntouched] = node;
    d->ntouched += !d->is_touched[node];
    d->is_touched[node] = 1;
    d->more[node] += ns;
}

/* Counts the waits of a location before a call, among its first `count` waits. The search starts at wait `near`, since
   few waits are between there and the call. */
static uint32_t waits_before(const struct vt_waits_of *of, uint32_t count, uint32_t near, uint32_t call)
{
    const struct vt_waited *list = of->list;
    uint32_t low = 0, high = near, step = 1;
    if (near < count && list[near].call < call) {
        for (low = near + 1; count - low >= step && list[low + step - 1].call < call; step *= 2) low += step;
        high = count - low >= step ? low + step - 1 : count;
    } else {
        for (; step <= high && list[high - step].call >= call; step *= 2) high -= step;
        low = step <= high ? high - step : 0;
    }
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (list[middle].call < call) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Counts the waits of a location before the current wait and before a call. */
static uint32_t waits_until(const struct delays *d, uint32_t location, uint32_t call)
{
    return waits_before(&d->r->waited[location], d->before[location], d->before[location], call);
}

/* The calls of a location from its last meeting with another one to a call. meet: the call of the meeting (VT_NONE: the
   location's start); first: the first call after it; sign: 1 for the partner, -1 for the location that waits. */
struct stretch {
    uint32_t location, other, meet, first, call;
    int sign;
};

/* True for a wait for the receiver in the call in which the two met: the meeting ends this wait. */
static int ends_by_meeting(struct delays *d, const struct stretch *s, const struct vt_waited *w)
{
    if (w->kind != VT_WAIT_mpi_latereceiver) return 0;
    const struct vt_logged *by = vt_log_get(&d->r->log, w->number);
    if (!by) d->failed = 1;
    return by && by->partner == s->other;
}

/* Finds the first call after the meeting. A location that sent in the meeting's call and then waited in it, as in
   MPI_Sendrecv, waited after the meeting. */
static void find_first(struct delays *d, struct stretch *s, uint32_t sent)
{
    s->first = s->meet == VT_NONE ? 0 : s->meet + 1;
    const uint32_t waits = sent && s->first ? waits_until(d, s->location, s->first) : 0;
    if (!waits) return;
    const struct vt_waited *last = &d->r->waited[s->location].list[waits - 1];
    if (last->call == s->meet && !ends_by_meeting(d, s, last)) s->first = s->meet;
}

/* As touch, for n times. No branch depends on a path, and the fields are in registers: a flag of a path may be any byte
   for the compiler. */
static void add_times(struct delays *d, const uint32_t *joined, struct vt_packed_times times, uint64_t n, int sign)
{
    uint32_t *const touched = d->touched;
    uint8_t *const is_touched = d->is_touched;
    int64_t *const more = d->more;
    uint64_t count = d->ntouched;
    for (uint64_t i = 0; i < n; i++) {
        const struct vt_path_time one = vt_packed_time(&times, i);
        const uint32_t node = joined[one.node];
        touched[count] = node;
        count += !is_touched[node];
        is_touched[node] = 1;
        more[node] += sign * one.ns;
    }
    d->ntouched = count;
}

/* Adds or subtracts the times of a stretch. The waits of a stretch that starts before the part are unknown. */
static int compare(struct delays *d, const struct stretch *s)
{
    const struct vt_matcher *o = d->r->out;
    const struct vt_location_ends *place = &o->places[s->location];
    const uint32_t *joined = (const uint32_t *)(uintptr_t)place->joined;
    uint64_t first = s->first;
    d->r->out->crossing += first < place->times_begin;
    if (s->call > LOOK_BACK && first < s->call - LOOK_BACK) first = s->call - LOOK_BACK;
    struct vt_packed_times times;
    for (uint64_t n; first < s->call; first += n) {
        if (!(n = vt_times_at(d->r, s->location, first, &times))) return VT_MATCH_NO_FILE;
        if (n > s->call - first) n = s->call - first;
        add_times(d, joined, times, n, s->sign);
    }
    return VT_MATCH_OK;
}

/* Subtracts the waits of a stretch from its times. A wait for another late receiver in the call of the meeting is after
   the meeting, though these times are not. Returns the sum of the waits. */
static int64_t take_waits(struct delays *d, const struct stretch *s)
{
    const struct vt_waited *list = d->r->waited[s->location].list;
    const uint32_t until = waits_until(d, s->location, s->call), least = until > LOOK_BACK ? until - LOOK_BACK : 0;
    uint32_t first = until;
    int64_t sum = 0;
    for (; first > least; first--) {
        const struct vt_waited *w = &list[first - 1];
        const int is_inside = w->call >= s->first;
        if (!is_inside && (w->call != s->meet || w->kind != VT_WAIT_mpi_latereceiver || ends_by_meeting(d, s, w)))
            break;
        sum += w->until - w->enter;
        if (is_inside) touch(d, w->node, -s->sign * (w->until - w->enter));
    }
    d->waits = first < until ? list + first : NULL;
    d->nwaits = until - first;
    return sum;
}

static int charge(struct delays *d, const struct wait *w, uint32_t node, double direct, double indirect, int64_t excess)
{
    struct vt_matcher *o = d->r->out;
    const uint32_t partner = w->by.partner, waiting = w->of->node, kind = w->of->kind;
    const uint64_t a = (uint64_t)partner << 32 | node, b = (uint64_t)waiting * VT_WAIT_ALL_KINDS + kind;
    uint64_t place = vt_pair_table_get(&d->known, a, b);
    if (!place) {
        if (!VT_ROOM(o->delays, o->ndelays + 1, &d->room)) return 0;
        o->delays[o->ndelays] = (struct vt_delay){0, 0, 0, 0, partner, node, kind, waiting};
        place = ++o->ndelays;
        if (!vt_pair_table_set(&d->known, a, b, place)) return 0;
    }
    struct vt_delay *sum = &o->delays[place - 1];
    sum->direct += direct;
    sum->indirect += indirect;
    sum->excess += excess;
    sum->count++;
    return 1;
}

/* Keeps among the touched call paths those in which the partner spent more time, and forgets the others. Adds their times
   to *all; returns their number. */
static uint64_t keep_longer(struct delays *d, double *all)
{
    uint32_t *const touched = d->touched;
    int64_t *const more = d->more;
    const uint64_t count = d->ntouched;
    uint64_t longer = 0;
    double sum = *all;
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t node = touched[i];
        const int64_t ns = more[node] > 0 ? more[node] : 0;
        sum += (double)ns;
        more[node] = ns;
        d->is_touched[node] = 0;
        touched[longer] = node;
        longer += ns > 0;
    }
    d->ntouched = 0;
    *all = sum;
    return longer;
}

/* Distributes the cost of a wait over its causes. */
static int distribute(struct delays *d, const struct wait *w, double own, double others)
{
    const struct vt_logged *by = &w->by;
    struct stretch waiting = {by->location, by->partner, by->meet, 0, by->call, -1};
    struct stretch late = {by->partner, by->location, by->partner_meet, 0, by->partner_call, 1};
    find_first(d, &waiting, w->of->sender & VT_SENT_BY_WAITING);
    find_first(d, &late, w->of->sender & VT_SENT_BY_PARTNER);
    if (compare(d, &late) || compare(d, &waiting)) return VT_MATCH_NO_FILE;
    const int64_t waited = take_waits(d, &waiting), partner = take_waits(d, &late);
    if (d->failed) return VT_MATCH_NO_FILE;
    const double through = partner > waited ? (double)(partner - waited) : 0;
    double all = through;
    const uint64_t longer = keep_longer(d, &all);
    int fine = 1;
    for (uint64_t i = 0; i < longer; i++) {
        const uint32_t node = d->touched[i];
        const double share = (double)d->more[node] / all;
        if (fine && share > 0) fine = charge(d, w, node, own * share, others * share, d->more[node]);
        d->more[node] = 0;
    }
    for (uint32_t i = 0; through > 0 && i < d->nwaits; i++) {
        const double lasted = (double)(d->waits[i].until - d->waits[i].enter);
        d->costs[d->waits[i].number] += (own + others) * through / all * lasted / (double)partner;
    }
    if (fine && all <= 0) fine = charge(d, w, by->partner_node, own, others, 0);
    return fine ? VT_MATCH_OK : VT_MATCH_NO_MEMORY;
}

/* Fetches the times of a location before a call, which will be compared. */
static void prefetch_times(const struct vt_location_ends *place, uint32_t call)
{
    const struct vt_packed_times times =
        vt_packed_times((const unsigned char *)(uintptr_t)place->times, place->times_widths);
    if (times.rows && call) __builtin_prefetch(times.rows + (call - UINT64_C(1)) * times.row);
}

/* Fetches what the visit of a wait compares. */
static void prefetch(struct delays *d, uint64_t number)
{
    const struct vt_location_ends *places = d->r->out->places;
    const struct vt_logged *by = vt_log_get(&d->r->log, number);
    if (!by) return;
    prefetch_times(&places[by->partner], by->partner_call);
    prefetch_times(&places[by->location], by->call);
}

static int visit(struct delays *d, uint64_t number)
{
    const struct vt_matcher *o = d->r->out;
    const struct vt_logged *by = vt_log_get(&d->r->log, number);
    if (!by) return VT_MATCH_NO_FILE;
    const struct wait w = {&d->r->waited[by->location].list[--d->before[by->location]], *by};
    const int64_t begin = w.of->enter > o->from ? w.of->enter : o->from,
                  end = w.of->until < o->to ? w.of->until : o->to;
    const struct vt_location_ends *place = &o->places[w.by.location];
    const double own = end > begin && place->wanted ? (double)(end - begin) : 0;
    if (w.of->enter < place->start) {
        d->r->out->crossing += d->costs[number] > 0;
        return VT_MATCH_OK;
    }
    return own + d->costs[number] > 0 ? distribute(d, &w, own, d->costs[number]) : VT_MATCH_OK;
}

/* Visits all waits, the last first. */
static int visit_all(struct delays *d)
{
    int code = VT_MATCH_OK;
    for (uint64_t i = d->r->log.count; !code && i--;) {
        if (i >= AHEAD) prefetch(d, d->order ? d->order[i - AHEAD] : i - AHEAD);
        code = visit(d, d->order ? d->order[i] : i);
    }
    return code;
}

static int ascending(const void *a, const void *b)
{
    const struct vt_waited *one = a, *other = b;
    return one->call < other->call ? -1 : one->call > other->call;
}

/* Sorts the waits of a location by call. Only those for late receivers are out of order; room: for these. */
static void sort_waits(struct vt_waits_of *of, struct vt_waited *room)
{
    uint32_t kept = 0, late = 0;
    for (uint32_t i = 0; i < of->count; i++) {
        if (of->list[i].kind == VT_WAIT_mpi_latereceiver) room[late++] = of->list[i];
        else of->list[kept++] = of->list[i];
    }
    qsort(room, late, sizeof *room, ascending);
    for (uint32_t to = of->count; late;) /* in a call, the wait for a late receiver is the last */
        of->list[--to] = kept && of->list[kept - 1].call > room[late - 1].call ? of->list[--kept] : room[--late];
}

/* Sorts the waits of each location by call. */
static int sort_by_call(struct delays *d)
{
    const struct vt_replayed *r = d->r;
    uint32_t most = 0;
    for (uint64_t k = 0; k < r->out->nplaces; k++) most = r->waited[k].count > most ? r->waited[k].count : most;
    struct vt_waited *room = malloc(most * sizeof *room);
    if (!room) return VT_MATCH_NO_MEMORY;
    for (uint64_t k = 0; k < r->out->nplaces; k++) sort_waits(&r->waited[k], room);
    free(room);
    return VT_MATCH_OK;
}

/* Locations whose waits are put in order. By location: placed: the number of its waits in order; wanted: so many are
   needed, 0 if the location is not in the stack. */
struct ordering {
    uint32_t *placed, *wanted, *stack, depth;
    uint64_t count; /* of all waits in order */
};

static void need(struct ordering *o, uint32_t location, uint32_t waits)
{
    o->wanted[location] = waits;
    o->stack[o->depth++] = location;
}

/* Counts the waits of a location before a call. */
static uint32_t waits_in_order(const struct delays *d, const struct ordering *o, uint32_t location, uint32_t call)
{
    const struct vt_waits_of *of = &d->r->waited[location];
    return waits_before(of, of->count, o->placed[location], call);
}

/* Puts the next wait of the location at the top of the stack in order, or first the partner's waits on which this wait
   depends. With wrong clocks waits may depend on each other: these waits are in any order. */
static int place_next(struct delays *d, struct ordering *o)
{
    const uint32_t location = o->stack[o->depth - 1];
    if (o->placed[location] >= o->wanted[location]) {
        o->wanted[location] = 0;
        o->depth--;
        return VT_MATCH_OK;
    }
    const uint32_t number = d->r->waited[location].list[o->placed[location]].number;
    const struct vt_logged *by = vt_log_get(&d->r->log, number);
    if (!by) return VT_MATCH_NO_FILE;
    const uint32_t partner = by->partner, earlier = waits_in_order(d, o, partner, by->partner_call);
    if (o->placed[partner] < earlier && !o->wanted[partner]) need(o, partner, earlier);
    else {
        d->order[o->count++] = number;
        o->placed[location]++;
    }
    return VT_MATCH_OK;
}

/* Orders the waits so that each follows those on which it depends. Their ends do not tell: a wait ends with its call if
   clocks say that the partner came later. */
static int order_by_cause(struct delays *d)
{
    const uint64_t count = d->r->log.count, nplaces = d->r->out->nplaces;
    uint32_t *all = calloc(3 * nplaces, sizeof *all);
    if (!all) return VT_MATCH_NO_MEMORY;
    int code = (d->order = malloc(count * sizeof *d->order)) ? sort_by_call(d) : VT_MATCH_NO_MEMORY;
    struct ordering o = {all, all + nplaces, all + 2 * nplaces, 0, 0};
    for (uint64_t i = 0; !code && i < count; i++) {
        const struct vt_logged *by = vt_log_get(&d->r->log, i);
        if (by) need(&o, by->location, waits_in_order(d, &o, by->location, by->call + 1));
        else code = VT_MATCH_NO_FILE;
        while (!code && o.depth) code = place_next(d, &o);
    }
    free(all);
    return code;
}

int vt_find_delays(struct vt_replayed *r)
{
    struct delays *d = calloc(1, sizeof *d);
    if (!d) return VT_MATCH_NO_MEMORY;
    d->r = r;
    d->costs = calloc(r->log.count + 1, sizeof *d->costs);
    d->before = calloc(r->out->nplaces + 1, sizeof *d->before);
    d->more = calloc(r->out->nnodes + 1, sizeof *d->more);
    d->touched = malloc((r->out->nnodes + 1) * sizeof *d->touched); /* one more: touch writes before it counts */
    d->is_touched = calloc(r->out->nnodes + 1, 1);
    void *all[] = {d->costs, d->before, d->more, d->touched, d->is_touched};
    int code = VT_MATCH_OK;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (!all[i]) code = VT_MATCH_NO_MEMORY;
    for (uint64_t k = 0; !code && k < r->out->nplaces; k++) d->before[k] = r->waited[k].count;
    if (!code && r->log.has_late) code = order_by_cause(d);
    if (!code) code = visit_all(d);
    vt_pair_table_free(&d->known);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    free(d->order);
    free(d);
    return code;
}
