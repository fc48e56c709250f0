/* SPDX-License-Identifier: BSD-3-Clause */
/* Root causes of waits (Boehme, Geimer, Wolf, Arnold, "Identifying the root causes of wait states in large-scale
   parallel applications", 2010). A call waits because its partner took longer since the two met last. The wait is the
   cost of the call paths in which the partner spent more time, and of the partner's own waits if the partner waited
   more. The cost of these waits passes on to their partners. Waits are visited from the last to the first, so a visited
   wait has its full cost. */
#include "replayed.h"
#include <stdlib.h>

#define LOOK_BACK 4096u /* the most times of a location, and the most waits, to compare */

struct delays {
    struct vt_replayed *r;
    double *costs; /* of each wait in the log: the cost of later waits that this wait caused, ns */
    uint32_t *first; /* by location: place of its first wait in numbers and calls */
    uint32_t *before; /* by location: number of its waits before the current one */
    uint32_t *numbers, *calls; /* of each wait, by location and time: number in the log, call */
    uint32_t *order; /* numbers in the log, each after the waits on which it depends; NULL: the order of the log */
    int64_t *more; /* by call path: the partner's time minus the waiting location's time, ns */
    uint32_t *touched;
    uint8_t *is_touched;
    uint64_t ntouched, room;
    struct vt_pair_table known;
    uint32_t waits[LOOK_BACK]; /* the partner's waits: numbers in the log */
    int64_t lasted[LOOK_BACK];
    uint32_t nwaits;
};

static void touch(struct delays *d, uint32_t node, int64_t ns)
{
    if (!d->is_touched[node]) d->touched[d->ntouched++] = node;
    d->is_touched[node] = 1;
    d->more[node] += ns;
}

/* Counts the waits of a location before the current wait and before a call. The search starts at the last of them,
   since few are after the call, unless the location is far ahead. */
static uint32_t waits_until(const struct delays *d, uint32_t location, uint32_t call)
{
    const uint32_t *calls = d->calls + d->first[location];
    uint32_t high = d->before[location], step = 1;
    for (; step <= high && calls[high - step] >= call; step *= 2) high -= step;
    uint32_t low = step <= high ? high - step : 0;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (calls[middle] < call) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The calls of a location from its last meeting with another one to a call. meet: the call of the meeting (VT_NONE: the
   location's start); first: the first call after it; sign: 1 for the partner, -1 for the location that waits. */
struct stretch {
    uint32_t location, other, meet, first, call;
    int sign;
};

/* True for a wait for the receiver in the call in which the two met: the meeting ends this wait. */
static int ends_by_meeting(const struct stretch *s, const struct vt_logged *w)
{
    return w->kind == VT_WAIT_mpi_latereceiver && w->partner == s->other;
}

/* Finds the first call after the meeting. A location that sent in the meeting's call and then waited in it, as in
   MPI_Sendrecv, waited after the meeting. Results are enum VT_MATCH codes. */
static int find_first(const struct delays *d, struct stretch *s, uint32_t sent)
{
    s->first = s->meet == VT_NONE ? 0 : s->meet + 1;
    const uint32_t waits = sent && s->first ? waits_until(d, s->location, s->first) : 0;
    const uint32_t last = d->first[s->location] + waits - 1;
    if (!waits || d->calls[last] != s->meet) return VT_MATCH_OK;
    const struct vt_logged *w = vt_log_get(&d->r->log, d->numbers[last]);
    if (!w) return VT_MATCH_NO_FILE;
    if (!ends_by_meeting(s, w)) s->first = s->meet;
    return VT_MATCH_OK;
}

/* Adds or subtracts the times of a stretch. */
static int compare(struct delays *d, const struct stretch *s)
{
    const struct vt_matcher *o = d->r->out;
    const struct vt_location_ends *place = &o->places[s->location];
    const uint32_t *joined = (const uint32_t *)(uintptr_t)place->joined;
    uint64_t first = s->first;
    if (s->call > LOOK_BACK && first < s->call - LOOK_BACK) first = s->call - LOOK_BACK;
    for (uint64_t n; first < s->call; first += n) {
        const struct vt_path_time *times = vt_times_at(d->r, s->location, first, &n);
        if (!times) return VT_MATCH_NO_FILE;
        if (n > s->call - first) n = s->call - first;
        for (uint64_t i = 0; i < n; i++) touch(d, joined[times[i].node], s->sign * times[i].ns);
    }
    return VT_MATCH_OK;
}

/* Subtracts the waits of a stretch from its times. A wait for another late receiver in the call of the meeting is after
   the meeting, though these times are not. Returns the sum of the waits, or -1 if reading the log fails. */
static int64_t take_waits(struct delays *d, const struct stretch *s)
{
    const uint32_t first = d->first[s->location];
    int64_t sum = 0;
    d->nwaits = 0;
    for (uint32_t i = first + waits_until(d, s->location, s->call); i-- > first && d->nwaits < LOOK_BACK;) {
        const int is_inside = d->calls[i] >= s->first;
        if (!is_inside && (!d->order || d->calls[i] != s->meet)) break;
        const struct vt_logged *w = vt_log_get(&d->r->log, d->numbers[i]);
        if (!w) return -1;
        if (!is_inside && (w->kind != VT_WAIT_mpi_latereceiver || ends_by_meeting(s, w))) break;
        d->waits[d->nwaits] = d->numbers[i];
        d->lasted[d->nwaits++] = w->until - w->enter;
        sum += w->until - w->enter;
        if (is_inside) touch(d, w->node, -s->sign * (w->until - w->enter));
    }
    return sum;
}

static int charge(struct delays *d, const struct vt_logged *w, uint32_t node, double direct, double indirect,
                  int64_t excess)
{
    struct vt_matcher *o = d->r->out;
    const uint64_t a = (uint64_t)w->partner << 32 | node, b = (uint64_t)w->node * VT_WAIT_ALL_KINDS + w->kind;
    uint64_t place = vt_pair_table_get(&d->known, a, b);
    if (!place) {
        if (!VT_ROOM(o->delays, o->ndelays + 1, &d->room)) return 0;
        o->delays[o->ndelays] = (struct vt_delay){0, 0, 0, 0, w->partner, node, w->kind, w->node};
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

/* Distributes the cost of a wait over its causes. */
static int distribute(struct delays *d, const struct vt_logged *w, double own, double others)
{
    struct stretch waiting = {w->location, w->partner, w->meet, 0, w->call, -1};
    struct stretch late = {w->partner, w->location, w->partner_meet, 0, w->partner_call, 1};
    int code = find_first(d, &waiting, w->sender & VT_SENT_BY_WAITING);
    if (!code) code = find_first(d, &late, w->sender & VT_SENT_BY_PARTNER);
    if (!code) code = compare(d, &late);
    if (!code) code = compare(d, &waiting);
    const int64_t waited = code ? 0 : take_waits(d, &waiting);
    const int64_t partner = code ? 0 : take_waits(d, &late);
    if (waited < 0 || partner < 0) code = VT_MATCH_NO_FILE;
    const double through = partner > waited ? (double)(partner - waited) : 0;
    double all = through;
    for (uint64_t i = 0; i < d->ntouched; i++)
        if (d->more[d->touched[i]] > 0) all += (double)d->more[d->touched[i]];
    int fine = 1;
    for (uint64_t i = 0; i < d->ntouched; i++) {
        const uint32_t node = d->touched[i];
        const double share = d->more[node] > 0 ? (double)d->more[node] / all : 0;
        if (!code && fine && share > 0) fine = charge(d, w, node, own * share, others * share, d->more[node]);
        d->more[node] = 0;
        d->is_touched[node] = 0;
    }
    d->ntouched = 0;
    for (uint32_t i = 0; through > 0 && i < d->nwaits; i++)
        d->costs[d->waits[i]] += (own + others) * through / all * (double)d->lasted[i] / (double)partner;
    if (!code && fine && all <= 0) fine = charge(d, w, w->partner_node, own, others, 0);
    return code ? code : fine ? VT_MATCH_OK : VT_MATCH_NO_MEMORY;
}

static int visit(struct delays *d, uint64_t number)
{
    const struct vt_matcher *o = d->r->out;
    const struct vt_logged *found = vt_log_get(&d->r->log, number);
    if (!found) return VT_MATCH_NO_FILE;
    const struct vt_logged w = *found;
    d->before[w.location]--;
    const int64_t begin = w.enter > o->from ? w.enter : o->from, end = w.until < o->to ? w.until : o->to;
    const double own = end > begin && o->places[w.location].wanted ? (double)(end - begin) : 0;
    return own + d->costs[number] > 0 ? distribute(d, &w, own, d->costs[number]) : VT_MATCH_OK;
}

/* Sorts the waits by location, those of a location by call unless some are for late receivers. */
static void sort_waits(struct delays *d)
{
    const struct vt_wait_log *log = &d->r->log;
    for (uint64_t i = 0; i < log->count; i++) d->first[log->calls[i].location + 1]++;
    for (uint64_t k = 0; k < d->r->out->nplaces; k++) d->first[k + 1] += d->first[k];
    for (uint64_t i = 0; i < log->count; i++) {
        const struct vt_logged_call one = log->calls[i];
        const uint32_t at = d->first[one.location] + d->before[one.location]++;
        d->numbers[at] = (uint32_t)i;
        d->calls[at] = one.call;
    }
}

static int ascending(const void *a, const void *b)
{
    const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return one < other ? -1 : one > other;
}

/* Sorts the waits of each location by call. The log has a wait for a late receiver where this receiver is known. */
static int sort_by_call(struct delays *d)
{
    const uint64_t count = d->r->log.count;
    uint64_t *waits = malloc(count * sizeof *waits);
    if (!waits) return VT_MATCH_NO_MEMORY;
    for (uint64_t i = 0; i < count; i++) waits[i] = (uint64_t)d->calls[i] << 32 | d->numbers[i];
    for (uint64_t k = 0; k < d->r->out->nplaces; k++)
        qsort(waits + d->first[k], d->first[k + 1] - d->first[k], sizeof *waits, ascending);
    for (uint64_t i = 0; i < count; i++) {
        d->calls[i] = (uint32_t)(waits[i] >> 32);
        d->numbers[i] = (uint32_t)waits[i];
    }
    free(waits);
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
    const uint32_t number = d->numbers[d->first[location] + o->placed[location]];
    const struct vt_logged *w = vt_log_get(&d->r->log, number);
    if (!w) return VT_MATCH_NO_FILE;
    const uint32_t earlier = waits_until(d, w->partner, w->partner_call);
    if (o->placed[w->partner] < earlier && !o->wanted[w->partner]) need(o, w->partner, earlier);
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
        const struct vt_logged_call one = d->r->log.calls[i];
        need(&o, one.location, waits_until(d, one.location, one.call + 1));
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
    d->first = calloc(r->out->nplaces + 1, sizeof *d->first);
    d->before = calloc(r->out->nplaces + 1, sizeof *d->before);
    d->numbers = malloc((r->log.count + 1) * sizeof *d->numbers);
    d->calls = malloc((r->log.count + 1) * sizeof *d->calls);
    d->more = calloc(r->out->nnodes + 1, sizeof *d->more);
    d->touched = malloc((r->out->nnodes + 1) * sizeof *d->touched);
    d->is_touched = calloc(r->out->nnodes + 1, 1);
    void *all[] = {d->costs, d->first, d->before, d->numbers, d->calls, d->more, d->touched, d->is_touched};
    int code = VT_MATCH_OK;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (!all[i]) code = VT_MATCH_NO_MEMORY;
    if (!code) sort_waits(d);
    if (!code && r->log.has_late) code = order_by_cause(d);
    for (uint64_t i = r->log.count; !code && i--;) code = visit(d, d->order ? d->order[i] : i);
    vt_pair_table_free(&d->known);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    free(d->order);
    free(d);
    return code;
}
