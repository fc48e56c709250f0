/* SPDX-License-Identifier: BSD-3-Clause */
/* The second pass over a location: its records become OTF2 events, with global ids and corrected times. */
#include <stdlib.h>
#include <string.h>
#include "pass.h"

#define DEPTH_MAX (1u << 24)
#define SEARCH_MIN 1024u
#define THINNED (VT_CLASS_FUNCTION | VT_CLASS_NEW_CODE | VT_CLASS_REGION | VT_CLASS_IO | VT_CLASS_MEMORY)

int vt_refused(struct vt_error *error, int32_t code)
{
    const char *text;
    int32_t first = vt_otf2_complaint(&text);
    error->otf2 = first ? first : code;
    vt_fail(error, VT_BAD_OTF2, "%s", text);
    vt_otf2_forget();
    return VT_BAD_OTF2;
}

/* Returns the time of an event at `ticks`: never before the previous event. */
static inline uint64_t time_at(struct pass *p, uint64_t ticks)
{
    int early = 0;
    uint64_t t = vt_times_ns(&p->times, ticks, &early);
    if (__builtin_expect(t < p->last || early, 0)) {
        p->result->clamped++;
        if (t < p->last) return p->last;
    }
    return p->last = t;
}

/* ---- Regions ---- */

static int map_functions(struct pass *p)
{
    unsigned bits = 6;
    while ((1ull << bits) < p->maps->nfunctions * 2) bits++;
    p->mask = (1ull << bits) - 1;
    p->shift = 64 - bits;
    p->functions = malloc(sizeof *p->functions << bits);
    if (!p->functions) return 0;
    memset(p->functions, 0xff, sizeof *p->functions << bits);
    for (uint64_t i = 0; i < p->maps->nfunctions; i++) {
        uint32_t offset = p->maps->function_offsets[i];
        uint64_t at = vt_function_slot(p, offset);
        while (p->functions[at] != UINT64_MAX) at = (at + 1) & p->mask;
        p->functions[at] = (uint64_t)offset << 32 | p->maps->function_regions[i];
    }
    return 1;
}

static uint32_t address_region(const struct pass *p, uint64_t address)
{
    const uint64_t *list = p->maps->addresses;
    uint64_t low = 0, high = p->maps->naddresses;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (list[middle] < address) low = middle + 1;
        else high = middle;
    }
    return low < p->maps->naddresses && list[low] == address ? p->maps->address_regions[low] : VT_UNMAPPED;
}

static uint32_t region_of(const struct pass *p, uint64_t key)
{
    if (key & ADDRESS_KEY) return address_region(p, key & ~ADDRESS_KEY);
    if (!(key & ENTER_KEY)) return vt_function_region(p, (uint32_t)key & VT_CODE_MASK);
    uint32_t id = (uint32_t)key;
    return id < p->maps->nregions ? p->maps->regions[id] : VT_UNMAPPED;
}

static uint32_t innermost(const struct pass *p)
{
    return p->depth ? region_of(p, p->frames[p->depth - 1].key) : VT_UNMAPPED;
}

static uint64_t open_path(const struct pass *p)
{
    uint64_t found = VT_PATH_START;
    for (uint32_t i = 0; i < p->depth; i++) {
        const uint32_t region = region_of(p, p->frames[i].key);
        found = (found ^ (region == VT_UNMAPPED ? p->maps->unknown_region : region)) * VT_PATH_FACTOR;
    }
    return found;
}

static int grow(struct pass *p)
{
    if (p->depth >= DEPTH_MAX) return vt_fail(p->error, VT_BAD_DATA, "more than %u open regions", DEPTH_MAX);
    uint32_t capacity = p->capacity ? p->capacity * 2 : 256;
    struct vt_open_region *frames = realloc(p->frames, capacity * sizeof *frames);
    if (!frames) return VT_NO_MEMORY;
    p->frames = frames;
    p->capacity = capacity;
    return VT_OK;
}

static inline int enter(struct pass *p, uint64_t t, uint64_t key, uint32_t region)
{
    if (__builtin_expect(p->depth == p->capacity, 0)) {
        int code = grow(p);
        if (code) return code;
    }
    if (__builtin_expect(region == VT_UNMAPPED, 0)) {
        region = p->maps->unknown_region;
        p->result->unmapped++;
    }
    p->frames[p->depth++] = (struct vt_open_region){key, region, 0, 0, 0};
    if (__builtin_expect(p->samples != NULL, 0)) {
        struct vt_open_region *top = &p->frames[p->depth - 1];
        return vt_context_enter(p, t, p->depth > 1 ? top[-1].place : 0, &top->place);
    }
    return WRITE_CALL(p, p->attributes, Enter, t, region);
}

static inline int pop(struct pass *p, uint64_t t, OTF2_AttributeList *attributes)
{
    uint32_t place = p->frames[--p->depth].place;
    if (__builtin_expect(p->samples != NULL, 0)) return vt_context_leave(p, t, place, attributes);
    return WRITE_CALL(p, attributes, Leave, t, place);
}

/* Returns 1 for a region that the program begins and ends itself. */
static inline int is_users(const struct pass *p, uint64_t key)
{
    uint64_t id = key & ~ENTER_KEY;
    return key & ENTER_KEY && id < p->maps->nregions && p->maps->user_regions[id];
}

/* Notes a region that ended with the enclosing one. Its own leave may follow: gcc's OpenMP runtime detects the end of a
   construct without a barrier only at the end of the team, and the end of `parallel sections` before the function with
   its code ends. */
static void note_early(struct pass *p, uint64_t key)
{
    if (p->nearly == EARLY) memmove(p->early, p->early + 1, --p->nearly * sizeof *p->early);
    p->early[p->nearly++] = key;
}

static int has_ended_early(struct pass *p, uint64_t key)
{
    for (uint32_t i = 0; i < p->nearly; i++) {
        if (p->early[i] != key) continue;
        memmove(p->early + i, p->early + i + 1, (--p->nearly - i) * sizeof *p->early);
        return 1;
    }
    return 0;
}

/* A leave that does not match the top: a longjmp or an exception has also left the regions above its enter. */
static __attribute__((noinline)) int leave_below(struct pass *p, uint64_t t, uint64_t key)
{
    uint32_t limit = p->credit ? p->depth : SEARCH_MIN, steps = 0;
    while (steps < p->depth && steps < limit && p->frames[p->depth - 1 - steps].key != key) steps++;
    if (steps == p->depth || steps == limit) {
        p->credit -= steps < p->credit ? steps : p->credit;
        if (!p->depth && p->maps->is_forked) return VT_OK;
        if (is_users(p, key)) p->result->unbegun++;
        else if (!has_ended_early(p, key)) p->result->stray_leaves++;
        return VT_OK;
    }
    int code = VT_OK;
    for (uint32_t i = 0; !code && i <= steps; i++) {
        uint64_t top = p->frames[p->depth - 1].key;
        p->result->unended += i < steps && is_users(p, top);
        if (i < steps && (top | key) & ENTER_KEY && !is_users(p, top)) note_early(p, top);
        code = pop(p, t, i == steps ? p->attributes : NULL);
    }
    return code;
}

static inline int leave(struct pass *p, uint64_t t, uint64_t key)
{
    if (__builtin_expect(p->depth && p->frames[p->depth - 1].key == key, 1)) return pop(p, t, p->attributes);
    return leave_below(p, t, key);
}

static inline int leave_call(struct pass *p, uint64_t t, uint64_t key)
{
    const struct vt_open_region *top = p->depth ? &p->frames[p->depth - 1] : NULL;
    int code = VT_OK;
    if (__builtin_expect(top && top->operation && top->key == key, 0)) code = vt_io_cancel(p, t);
    return code ? code : leave(p, t, key);
}

/* Closes the open regions at the end, or when another thread takes the location. */
static void count_unended(struct pass *p)
{
    for (uint32_t i = 0; i < p->depth; i++) p->result->unended += is_users(p, p->frames[i].key);
}

uint64_t vt_time_at(struct pass *p, uint64_t ticks) { return time_at(p, ticks); }

int vt_enter_region(struct pass *p, uint64_t t, uint32_t id)
{
    return enter(p, t, ENTER_KEY | id, region_of(p, ENTER_KEY | id));
}

int vt_leave_region(struct pass *p, uint64_t t, uint32_t id) { return leave(p, t, ENTER_KEY | id); }

int vt_leave_to(struct pass *p, uint64_t t, uint32_t depth)
{
    int code = VT_OK;
    while (!code && p->depth > depth) code = pop(p, t, NULL);
    return code;
}

static int close_all(struct pass *p, uint64_t t)
{
    vt_attributes_end(p); /* their event is missing */
    p->nearly = 0;
    int code = vt_teams_close(p, t);
    p->result->closed += p->depth;
    while (!code && p->depth) code = pop(p, t, NULL);
    return code;
}

/* The regions that were left in missing blocks are unknown: the stack starts again with the open regions of the
   block. */
static int reopen(struct pass *p, const struct vt_decoder *d, uint64_t dropped)
{
    int code = close_all(p, p->last);
    uint64_t from = p->last; /* before time_at() moves p->last to the end of the gap; 0: no event before */
    uint64_t t = d->nopen || dropped ? time_at(p, p->ticks) : 0;
    p->collective = 0;
    if (dropped) {
        p->result->dropped += dropped;
        p->result->dropped_ns = t;
    }
    int early = 0;
    uint64_t to = vt_times_ns(&p->times, p->ticks, &early);
    if (to < from) to = from;
    if (!code && dropped) code = vt_gap_add(p, from, to, dropped, VT_GAP_RING, VT_CLASS_ALL);
    else if (!code) code = vt_gap_add(p, from ? from : p->begun, to, VT_GAP_UNKNOWN, VT_GAP_DAMAGE, VT_CLASS_ALL);
    for (uint32_t i = 0; !code && i < d->nopen; i++) {
        uint64_t open = d->open[i], key = open;
        uint32_t what = (uint32_t)open;
        if (!(open & VT_OPEN_ADDRESS)) key = what & VT_FUNCTION ? what : ENTER_KEY | VT_ID(what);
        code = enter(p, t, key, region_of(p, key));
    }
    return code;
}

/* ---- All records except regions ---- */

static inline uint32_t comm_of(struct pass *p, uint32_t what)
{
    return mapped(p, p->maps->comms, p->maps->ncomms, VT_ID(what));
}

static inline uint32_t peer_of(const struct pass *p, uint32_t what, uint32_t peer)
{
    return shifted(peer, p->maps->comm_peer_offset[VT_ID(what)]);
}

#define OF_message(name, number) ~, OF_##name = number,
enum message_kind { VT_KINDS(VT_HANDLED) };
#undef OF_message

static int message(struct pass *p, uint64_t t, uint32_t what, const uint64_t *w)
{
    uint32_t comm = comm_of(p, what);
    if (comm == VT_UNMAPPED) return VT_OK; /* counted; readers fail on it */
    uint32_t peer = peer_of(p, what, (uint32_t)w[0]), tag = (uint32_t)(w[0] >> 32), kind = VT_KIND(what);
    if (kind == VT_K_ISEND && vt_request_starts(p, w[2])) return VT_NO_MEMORY;
    if (kind == VT_K_IRECV && !vt_request_is_known(p, w[2])) kind = VT_K_RECV;
    switch ((enum message_kind)kind) {
    case VT_K_SEND: return WRITE(p, MpiSend, t, peer, comm, tag, w[1]);
    case VT_K_RECV: return WRITE(p, MpiRecv, t, peer, comm, tag, w[1]);
    case VT_K_ISEND: return WRITE(p, MpiIsend, t, peer, comm, tag, w[1], w[2]);
    case VT_K_IRECV: return WRITE(p, MpiIrecv, t, peer, comm, tag, w[1], w[2]);
    }
    __builtin_unreachable();
}

#define OF_request(name, number) ~, OF_##name = number,
enum request_kind { VT_KINDS(VT_HANDLED) };
#undef OF_request

static int request(struct pass *p, uint64_t t, uint32_t what, uint64_t id)
{
    int starts = VT_KIND(what) == VT_K_IRECV_REQUEST || VT_KIND(what) == VT_K_COLL_REQUEST;
    if (starts && vt_request_starts(p, id)) return VT_NO_MEMORY;
    if (!starts && !vt_request_is_known(p, id)) return VT_OK;
    switch ((enum request_kind)VT_KIND(what)) {
    case VT_K_ISEND_COMPLETE: return WRITE(p, MpiIsendComplete, t, id);
    case VT_K_IRECV_REQUEST: return WRITE(p, MpiIrecvRequest, t, id);
    case VT_K_REQUEST_TEST: return WRITE(p, MpiRequestTest, t, id);
    case VT_K_REQUEST_CANCELLED: return WRITE(p, MpiRequestCancelled, t, id);
    case VT_K_COLL_REQUEST: return WRITE(p, NonBlockingCollectiveRequest, t, id);
    }
    __builtin_unreachable();
}

#define OF_collective(name, number) ~, OF_##name = number,
enum collective_kind { VT_KINDS(VT_HANDLED) };

static int collective(struct pass *p, uint64_t t, uint32_t what, const uint64_t *w)
{
    switch ((enum collective_kind)VT_KIND(what)) {
    case VT_K_COLL_BEGIN: p->collective = 1; return WRITE(p, MpiCollectiveBegin, t);
    case VT_K_COLL_COMPLETE:
        if (!vt_request_is_known(p, w[3])) return VT_OK;
        break;
    case VT_K_COLL_END:
        if (!p->collective && p->result->dropped) return VT_OK; /* the start was dropped */
        break;
    case VT_K_COMM_CREATE:
    case VT_K_COMM_DESTROY: break;
    }
    uint32_t comm = comm_of(p, what);
    if (comm == VT_UNMAPPED) return VT_OK;
    if (VT_KIND(what) == VT_K_COMM_CREATE) return WRITE(p, CommCreate, t, comm);
    if (VT_KIND(what) == VT_K_COMM_DESTROY) return WRITE(p, CommDestroy, t, comm);
    uint32_t op = (uint32_t)w[0] & ~VT_FROM_ALL, root = peer_of(p, what, (uint32_t)(w[0] >> 32));
    if (op > VT_OTF2_COLLECTIVE_OP_DESTROY_HANDLE_AND_DEALLOCATE)
        return vt_fail(p->error, VT_BAD_DATA, "unknown collective operation %u", op);
    if (VT_KIND(what) == VT_K_COLL_END) return WRITE(p, MpiCollectiveEnd, t, (uint8_t)op, comm, root, w[1], w[2]);
    return WRITE(p, NonBlockingCollectiveComplete, t, (uint8_t)op, comm, root, w[1], w[2], w[3]);
}

static int metric(struct pass *p, uint64_t t, uint32_t what, const uint64_t *value)
{
    uint32_t global = mapped(p, p->maps->metrics, p->maps->nmetrics, VT_ID(what));
    if (global == VT_UNMAPPED) return VT_OK;
    const uint8_t *type = &p->maps->metric_types[VT_ID(what)];
    const void *values = value;
    return WRITE(p, Metric, t, global, 1, type, values);
}

int vt_metric_group(struct pass *p, uint64_t t, uint32_t what, const uint64_t *values)
{
    enum { U64 = VT_OTF2_TYPE_UINT64 };
    static const uint8_t types[] = {U64, U64, U64, U64, U64, U64, U64};
    uint32_t global = mapped(p, p->maps->metrics, p->maps->nmetrics, VT_ID(what));
    uint32_t size = VT_ID(what) < p->maps->nmetric_sizes ? p->maps->metric_sizes[VT_ID(what)] : 0;
    if (global == VT_UNMAPPED) return VT_OK;
    if (!size || size > sizeof types)
        return vt_fail(p->error, VT_BAD_DATA, "%u is not a group of counters", VT_ID(what));
    const void *all = values;
    return WRITE_WITH(p, NULL, Metric, t, global, (uint8_t)size, types, all);
}

static int flush(struct pass *p, uint64_t t, uint64_t ticks)
{
    int early = 0;
    uint64_t end = p->ticks + ticks < p->ticks ? UINT64_MAX : p->ticks + ticks;
    uint64_t stop = vt_times_ns(&p->times, end, &early);
    if (stop < t) stop = t;
    p->result->flush_ns += stop - t;
    p->result->flushes++;
    int code = WRITE_WITH(p, NULL, BufferFlush, t, stop);
    p->last = stop; /* readers expect no event inside a flush */
    return code ? code : vt_gap_add(p, t, stop, 0, VT_GAP_FLUSH, VT_CLASS_ALL);
}

/* If only some classes stop, the measurement continues. */
static int limit(struct pass *p, uint64_t t, uint32_t why, uint32_t classes)
{
    if (!p->result->limit_classes) {
        p->result->limit_ns = t;
        p->result->limit_why = why;
    }
    p->result->limit_classes |= classes;
    int code = vt_gap_add(p, t, VT_GAP_OPEN, 0, why < VT_LOST_MOST ? why : 0, classes);
    if (code) return code;
    return classes == VT_CLASS_ALL ? WRITE_WITH(p, NULL, MeasurementOnOff, t, VT_OTF2_MEASUREMENT_OFF) : VT_OK;
}

static int on_off(struct pass *p, uint64_t t, uint32_t kind)
{
    if (kind == VT_K_OFF && !p->off) p->off_since = t;
    if (kind == VT_K_ON && p->off) {
        int code = vt_gap_add(p, p->off_since, t, VT_GAP_UNKNOWN, VT_GAP_OFF, VT_CLASS_ALL);
        if (code) return code;
        p->result->off_ns += t - p->off_since;
    }
    p->off = kind == VT_K_OFF;
    uint8_t mode = kind == VT_K_ON ? VT_OTF2_MEASUREMENT_ON : VT_OTF2_MEASUREMENT_OFF;
    return WRITE_WITH(p, NULL, MeasurementOnOff, t, mode);
}

/* Ends the interval in which calls below a length were only counted, and begins the next one. ticks: the new length. */
static int thinned(struct pass *p, uint64_t ticks)
{
    int early = 0;
    const uint64_t t = vt_times_ns(&p->times, p->ticks, &early), from = p->thinned_since;
    int code = VT_OK;
    if (p->thinned) code = vt_gap_add(p, from, t > from ? t : from, VT_GAP_UNKNOWN, p->thinned, THINNED);
    p->thinned = ticks ? VT_GAP_THINNED + 63 - (uint32_t)__builtin_clzll(ticks) : 0;
    p->thinned_since = t;
    return code;
}

/* In an iteration that has ended now calls were only counted. ticks: its duration. */
static int left_out(struct pass *p, uint64_t ticks)
{
    int early = 0;
    const uint64_t t = vt_times_ns(&p->times, p->ticks, &early), began = p->ticks - ticks;
    const uint64_t from = ticks < p->ticks ? vt_times_ns(&p->times, began, &early) : t;
    return vt_gap_add(p, from < t ? from : t, t, VT_GAP_UNKNOWN, VT_GAP_LEFT_OUT, THINNED);
}

static int lost(struct pass *p, uint32_t why, uint64_t events)
{
    p->result->lost += events;
    p->result->lost_by[why < VT_LOST_MOST ? why : 0] += events;
    return vt_gap_lost(p, why, events);
}

static const uint8_t handlers[128] = {
#define KIND(name, number, words, class, id, stack, role, handler, ...) [number] = VT_HANDLER_##handler,
    VT_KINDS(KIND)
#undef KIND
};

/* w: the payload. */
static int other(struct pass *p, uint32_t what, const uint64_t *w)
{
    const uint32_t kind = VT_KIND(what);
    const uint64_t t = vt_record_roles[kind] & VT_TIMED ? time_at(p, p->ticks) : 0;
    int code;
    switch ((enum vt_handler)handlers[kind]) {
    case VT_HANDLER_time: p->ticks += w[0]; return VT_OK;
    case VT_HANDLER_enter: return enter(p, t, ENTER_KEY | VT_ID(what), region_of(p, ENTER_KEY | VT_ID(what)));
    case VT_HANDLER_leave:
        if (__builtin_expect(p->freed.depth, 0) && (code = vt_heap_leave(p, what, 0))) return code;
        return leave_call(p, t, ENTER_KEY | VT_ID(what));
    case VT_HANDLER_enter_address: return enter(p, t, ADDRESS_KEY | w[0], address_region(p, w[0]));
    case VT_HANDLER_leave_address: return leave(p, t, ADDRESS_KEY | w[0]);
    case VT_HANDLER_lost: return lost(p, VT_ID(what), w[0]);
    case VT_HANDLER_on_off: return on_off(p, t, kind);
    case VT_HANDLER_limit: return limit(p, t, VT_ID(what), (uint32_t)w[0]);
    case VT_HANDLER_flush: return flush(p, t, w[0]);
    case VT_HANDLER_thinned: return thinned(p, w[0]);
    case VT_HANDLER_left_out: return left_out(p, w[0]);
    case VT_HANDLER_owner:
        p->late_wait = 0;
        count_unended(p);
        return close_all(p, t);
    case VT_HANDLER_message: return message(p, t, what, w);
    case VT_HANDLER_request: return request(p, t, what, w[0]);
    case VT_HANDLER_collective: return collective(p, t, what, w);
    case VT_HANDLER_metric: return metric(p, t, what, w);
    case VT_HANDLER_metric_group: return vt_metric_group(p, t, what, w);
    case VT_HANDLER_attribute: return vt_attribute(p, what, w[0]);
    case VT_HANDLER_heap_enter:
        if ((code = vt_heap_enter(p, what, w))) return code;
        return enter(p, t, ENTER_KEY | VT_ID(what), region_of(p, ENTER_KEY | VT_ID(what)));
    case VT_HANDLER_heap_leave:
        if ((code = vt_heap_leave(p, what, w[0]))) return code;
        return leave(p, t, ENTER_KEY | VT_ID(what));
    case VT_HANDLER_heap_sums: return VT_OK;
    case VT_HANDLER_team: return vt_team(p, what, w);
    case VT_HANDLER_thread: return vt_thread(p, t, what, w);
    case VT_HANDLER_lock: return vt_thread_lock(p, t, what, w[0]);
    case VT_HANDLER_rma: return vt_rma(p, t, what, w);
    case VT_HANDLER_io: return vt_io(p, t, what, w);
    case VT_HANDLER_user: return vt_user(p, t, what, w);
    case VT_HANDLER_processor_wait: return vt_processor_wait(p, w[0], innermost(p), open_path(p));
    case VT_HANDLER_blocked: return vt_blocked(p, w, innermost(p), open_path(p));
    }
    __builtin_unreachable(); /* vt_record has checked the kind */
}

/* Returns 1 if a record leaves attributes to the next one: the record may be between the attributes and their event. */
static int passes_on(uint32_t what) { return !(what & VT_FUNCTION || vt_record_roles[VT_KIND(what)] & VT_OWNS); }

/* ---- The pass ---- */

/* Writes the samples before a record, unless the record may be preceded by the end of a wait at an earlier time. */
static __attribute__((noinline)) int samples_before(struct pass *p, uint32_t what)
{
    int ends = VT_KIND(what) == VT_K_THREAD_TEAM_BEGIN || VT_KIND(what) == VT_K_THREAD_TEAM_JOINED ||
               VT_KIND(what) == VT_K_PROCESSOR_WAIT || VT_KIND(what) == VT_K_BLOCKED; /* may precede one of these */
    return !(what & VT_FUNCTION) && ends ? VT_OK : vt_samples_until(p, p->ticks);
}

static int convert(struct pass *p, const uint64_t *words, uint32_t n)
{
    for (uint32_t at = 0; at < n;) {
        if ((at = vt_plain_calls(p, words, at, n)) == n) break;
        uint32_t what = (uint32_t)words[at], size = 1;
        int code;
        p->ticks += words[at] >> 32;
        if (__builtin_expect(p->ticks > p->next_sample, 0) && (code = samples_before(p, what))) return code;
        if (__builtin_expect(what & VT_FUNCTION, 1)) {
            uint64_t key = what & ~VT_FUNCTION_LEAVE, t = time_at(p, p->ticks);
            code = what & VT_FUNCTION_LEAVE ? leave(p, t, key)
                                            : enter(p, t, key, vt_function_region(p, key & VT_CODE_MASK));
        } else {
            size = vt_record(words, at, n, p->error);
            if (!size) return VT_BAD_DATA;
            code = other(p, what, words + at + 1);
        }
        if (code) {
            p->error->offset = at * 8;
            return code;
        }
        if (__builtin_expect(p->attributes != NULL, 0) && !passes_on(what)) vt_attributes_end(p);
        at += size;
    }
    return VT_OK;
}

static int convert_rows(struct pass *p, struct vt_decoder *d, const struct vt_row *rows, uint32_t count)
{
    p->location = count ? rows[0].location : 0;
    const uint32_t first = p->from ? p->from->sequence : 0;
    for (uint32_t i = 0; i < count; i++) {
        p->error->row = p->row = i;
        if (p->starts && !vt_note_start(p, rows, i)) return VT_NO_MEMORY;
        int code = vt_decode(d, &rows[i], p->error);
        if (code) return code;
        p->ticks = rows[i].ticks;
        int early = 0;
        if (!i) p->begun = vt_times_ns(&p->times, p->ticks, &early);
        if (rows[i].sequence != (i ? rows[i - 1].sequence + 1 : first)) code = reopen(p, d, rows[i].dropped);
        if (!code) code = convert(p, d->words, rows[i].raw_bytes / 8);
        if (!code && p->ticks > VT_TICKS_MAX) code = vt_fail(p->error, VT_BAD_DATA, "impossible time");
        if (code) return code;
        vt_release(d, &rows[i]);
    }
    vt_attributes_end(p);
    count_unended(p);
    int code = vt_teams_end(p);
    if (!code) code = vt_samples_until(p, UINT64_MAX);
    if (!code) code = close_all(p, p->last);
    if (!code && p->thinned) code = vt_gap_add(p, p->thinned_since, VT_GAP_OPEN, VT_GAP_UNKNOWN, p->thinned, THINNED);
    if (!p->off) return code;
    p->result->off_ns += p->last - p->off_since;
    return code ? code : vt_gap_add(p, p->off_since, VT_GAP_OPEN, VT_GAP_UNKNOWN, VT_GAP_OFF, VT_CLASS_ALL);
}

int vt_pass_run(struct pass *p, const struct vt_row *rows, uint32_t count, const struct vt_sampled *sampled,
                struct vt_contexts *found)
{
    memset(p->result, 0, sizeof *p->result);
    if (!vt_times_begin(&p->times, p->maps))
        return vt_fail(p->error, VT_BAD_ARGUMENT, "knots: at least two, ticks ascending, ns not descending");
    vt_otf2_forget();
    if (!p->from) p->credit = SEARCH_CREDIT;
    p->next_sample = UINT64_MAX;
    p->nrows = count;
    struct vt_decoder *d = vt_decoder_new();
    int code = d && map_functions(p) ? VT_OK : VT_NO_MEMORY;
    if (!code && sampled && !(p->samples = vt_samples_new(sampled))) code = VT_NO_MEMORY;
    if (!code && sampled) code = vt_samples_first(p);
    if (!code && sampled) p->next_sample = p->samples->next;
    if (!code) code = convert_rows(p, d, rows, count);
    for (unsigned i = 0; i < VT_EVENT_KINDS; i++) p->result->events += p->result->counts[i];
    p->result->last_ns = p->last;
    if (found && !code) {
        *found = (struct vt_contexts){p->samples->tree.parents, p->samples->tree.steps, p->samples->tree.count};
        p->samples->tree.parents = p->samples->tree.steps = NULL;
    }
    if (p->list) vt_otf2.AttributeList_Delete(p->list);
    free(p->functions);
    free(p->frames);
    free(p->teams);
    vt_pair_table_free(&p->requests);
    vt_samples_free(p->samples);
    vt_decoder_free(d);
    return code;
}

VT_EXPORT int vt_kernel_transcode(void *writer, const struct vt_row *rows, uint32_t count, const struct vt_maps *maps,
                                  const struct vt_sampled *sampled, struct vt_batch *batch, vt_batch_full *full,
                                  struct vt_transcoded *result, struct vt_error *error)
{
    const struct vt_listener listener = {batch, full};
    struct pass p = {.writer = writer,
                     .is_read = batch && !writer,
                     .listener = batch ? &listener : NULL,
                     .maps = maps,
                     .result = result,
                     .error = error};
    return vt_pass_run(&p, rows, count, sampled, NULL);
}

VT_EXPORT int vt_kernel_contexts(const struct vt_row *rows, uint32_t count, const struct vt_maps *maps,
                                 const struct vt_sampled *sampled, struct vt_contexts *found, struct vt_error *error)
{
    struct vt_transcoded result;
    struct pass p = {.unwritten = 1, .maps = maps, .result = &result, .error = error};
    *found = (struct vt_contexts){0};
    int code = vt_pass_run(&p, rows, count, sampled, found);
    vt_kernel_notes_free(&result);
    vt_kernel_gaps_free(&result);
    vt_kernel_waits_free(&result);
    return code;
}

VT_EXPORT void vt_kernel_contexts_free(struct vt_contexts *found)
{
    free(found->parents);
    free(found->steps);
    *found = (struct vt_contexts){0};
}
