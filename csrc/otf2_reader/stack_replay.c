/* SPDX-License-Identifier: BSD-3-Clause */
/* The stack of a location, event by event. */
#include "../otf2_writer/containers.h"
#include "stack_replay.h"
#include <stdlib.h>
#include <string.h>

#define SEARCH_MAX 4096u /* frames below the top that are searched for the enter of a leave */

struct batch_replay {
    struct vt_replay out; /* first member: the part that Python sees */
    uint64_t frames_max;
    uint64_t number; /* number of the current event */
    uint64_t repeats; /* number of calls that the current Leave ends: more than 1 for failing polls in a row */
    uint32_t *open;       /* number of calls of each region on the stack */
    uint64_t marked[8];   /* number of calls on the stack with each mark */
    uint16_t marks;       /* the marks with a count above 0 */
    struct child {
        uint32_t parent, region, path; /* path: 0 if the place is free */
    } *children; /* hash of (parent, region) to paths */
    uint64_t mask;
    uint64_t paths_room, slices_room, slice_details_room, spans_room, nodes_room;
    uint64_t parts_room, crossings_room, began_room;
    uint64_t part;        /* borders so far */
    uint64_t kept;        /* outermost calls that began before the last border */
    int64_t *began;       /* their true begins: their enter is that border */
    int64_t now;          /* time of the previous event */
    int64_t flush_stop;   /* end of the flush that is now the innermost call */
    uint64_t flushing, known; /* known: regions of the archive have numbers below this one */
};

/* ---- The sums over calls of a region or call path ---- */

__extension__ typedef unsigned __int128 wide;

/* Limits a sum: the times of a damaged archive may go back, so that the calls of one stack last longer than the trace. */
static inline int64_t sum_of(int64_t a, int64_t b)
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum) && sum > INT64_MIN) return sum; /* -INT64_MIN would overflow */
    return a < 0 ? -INT64_MAX : INT64_MAX;
}

/* Adds n calls of the same region in a row, which are known by their sums. */
static __attribute__((noinline, cold)) void count_many(struct vt_stats *s, int64_t time, int64_t own, int outermost,
                                                       uint64_t n)
{
    const int64_t mean = time / (int64_t)n;
    if (!s->calls || mean < s->min) s->min = mean;
    if (mean > s->max) s->max = mean;
    s->calls += n;
    s->joined += n - 1;
    s->total = sum_of(s->total, time);
    s->exclusive = sum_of(s->exclusive, own);
    if (outermost) s->inclusive = sum_of(s->inclusive, time);
    /* time % n calls take mean + 1, the others mean: sum n * mean^2 + rest * (2 * mean + 1) */
    wide squares = ((wide)s->squares[1] << 64 | s->squares[0]) + (wide)mean * (wide)mean * n;
    squares += (wide)(time % (int64_t)n) * (wide)(2 * mean + 1);
    s->squares[0] = (uint64_t)squares;
    s->squares[1] = (uint64_t)(squares >> 64);
}

static inline void count(struct vt_stats *s, int64_t time, int64_t own, int outermost)
{
    if (!s->calls++ || time < s->min) s->min = time;
    if (time > s->max) s->max = time;
    s->total = sum_of(s->total, time);
    s->exclusive = sum_of(s->exclusive, own);
    if (outermost) s->inclusive = sum_of(s->inclusive, time);
    wide squares = ((wide)s->squares[1] << 64 | s->squares[0]) + (wide)time * (wide)time;
    s->squares[0] = (uint64_t)squares;
    s->squares[1] = (uint64_t)(squares >> 64);
}

/* Subtracts integers: with doubles the difference would vanish for calls of about equal length. */
static inline void spread(struct vt_stats *s)
{
    wide squares = (wide)s->squares[1] << 64 | s->squares[0], sum = (wide)s->total * (wide)s->total;
    s->deviations = (double)(squares - sum / s->calls) - (double)(sum % s->calls) / (double)s->calls;
}

static inline void count_calls(uint64_t n, struct vt_stats *s, int64_t time, int64_t own, int outermost)
{
    if (__builtin_expect(n > 1, 0)) count_many(s, time, own, outermost, n);
    else count(s, time, own, outermost);
}

/* ---- Call paths ---- */

static uint64_t slot(uint32_t parent, uint32_t region, uint64_t mask)
{
    uint64_t key = (uint64_t)parent << 32 | region;
    key *= 0x9e3779b97f4a7c15u;
    return (key ^ key >> 29) & mask;
}

static int grow_hash(struct batch_replay *r)
{
    uint64_t size = r->mask ? (r->mask + 1) * 2 : 1024;
    struct child *bigger = calloc(size, sizeof *bigger);
    if (!bigger) return 0;
    for (uint64_t i = 1; i < r->out.npaths; i++) {
        const struct vt_path p = r->out.paths[i];
        uint64_t at = slot(p.parent, p.region, size - 1);
        while (bigger[at].path) at = (at + 1) & (size - 1);
        bigger[at] = (struct child){p.parent, p.region, (uint32_t)i};
    }
    free(r->children);
    r->children = bigger;
    r->mask = size - 1;
    return 1;
}

static int grow_paths(struct batch_replay *r)
{
    const uint64_t before = r->paths_room, needed = before + 1;
    uint64_t room = before, same = before, also = before;
    if (!VT_ROOM(r->out.paths, needed, &room) || !VT_ROOM(r->out.path_stats, needed, &same) ||
        !VT_ROOM(r->out.touched_paths, needed, &also))
        return 0;
    memset(r->out.path_stats + before, 0, (room - before) * sizeof *r->out.path_stats);
    r->paths_room = room;
    return 1;
}

/* Creates a path. Returns its parent if there are already paths_max paths; VT_NONE: no memory. */
static uint32_t add_path(struct batch_replay *r, uint32_t parent, uint32_t region)
{
    if (r->out.npaths >= r->out.paths_max) return parent;
    if (r->out.npaths == r->paths_room && !grow_paths(r)) return VT_NONE;
    if (r->out.npaths * 2 > r->mask && !grow_hash(r)) return VT_NONE;
    uint64_t at = slot(parent, region, r->mask);
    while (r->children[at].path) at = (at + 1) & r->mask;
    uint32_t number = (uint32_t)r->out.npaths++;
    r->children[at] = (struct child){parent, region, number};
    r->out.paths[number] = (struct vt_path){parent, region};
    return number;
}

static inline uint32_t path(struct batch_replay *r, uint32_t parent, uint32_t region)
{
    for (uint64_t at = slot(parent, region, r->mask); r->children[at].path; at = (at + 1) & r->mask) {
        const struct child *c = &r->children[at];
        if (c->parent == parent && c->region == region) return c->path;
    }
    return add_path(r, parent, region);
}

/* ---- Times ---- */

/* Returns 1 if a call of a region is a library's internal work inside the open calls. */
static inline int is_runtime(const struct batch_replay *r, uint32_t region)
{
    return r->marks >> VT_MARK_RUNTIME & 1 && r->out.runtime_of && r->out.runtime_of[region];
}

/* Returns the class of the innermost call. */
static inline uint64_t class_now(const struct batch_replay *r)
{
    const uint32_t region = r->out.stack[r->out.depth - 1].region;
    return is_runtime(r, region) ? r->out.runtime_class : r->out.class_of[region];
}

/* Adds the time since the previous event to the class of the innermost call. */
static void draw(struct batch_replay *r, int64_t begin, int64_t end)
{
    struct vt_replay *o = &r->out;
    uint64_t class = r->out.depth ? class_now(r) : o->classes;
    double *line = o->line + class * o->bins, width = (double)(o->to - o->from) / (double)o->bins;
    double a = (double)(begin - o->from) / width, z = (double)(end - o->from) / width;
    uint64_t first = (uint64_t)a, last = (uint64_t)z;
    if (last >= o->bins) last = o->bins - 1;
    if (first >= last) {
        line[last] += (double)(end - begin);
        return;
    }
    line[first] += ((double)first + 1 - a) * width;
    for (uint64_t i = first + 1; i < last; i++) line[i] += width;
    line[last] += (z - (double)last) * width;
}

static inline int64_t within(const struct vt_replay *o, int64_t t)
{
    return t < o->from ? o->from : t > o->to ? o->to : t;
}

/* The batch has made room. */
static void keep_span(struct batch_replay *r, int64_t t)
{
    struct vt_span span = {.end = t, .region = VT_NONE};
    if (r->out.depth) {
        span.region = r->out.stack[r->out.depth - 1].region;
        span.depth = r->out.depth < UINT16_MAX ? (uint16_t)r->out.depth : UINT16_MAX;
        span.class = (uint16_t)class_now(r);
    }
    r->out.spans[r->out.nspans++] = span;
}

/* Forgets the spans, and makes room for those of n events. Returns 0 if there is no memory. */
static int clear_spans(struct batch_replay *r, uint64_t n)
{
    struct vt_replay *o = &r->out;
    o->nspans = 0;
    /* an event may end a flush, too; the end of the batch */
    return !o->want_spans || VT_ROOM(o->spans, 2 * n + 2, &r->spans_room);
}

/* Makes room for the nodes of n events. Returns 0 if there is no memory. */
static int clear_nodes(struct batch_replay *r, uint64_t n)
{
    return !r->out.want_nodes || VT_ROOM(r->out.nodes, n, &r->nodes_room);
}

static inline void pass(struct batch_replay *r, int64_t t)
{
    int64_t begin = within(&r->out, r->now), end = within(&r->out, t);
    if (r->out.bins && end > begin) draw(r, begin, end);
    if (r->out.want_spans) keep_span(r, t);
    r->now = t;
}

static int keep_slice(struct batch_replay *r, const struct vt_checkpoint_call *f, int64_t begin, int64_t end,
                      int64_t own)
{
    struct vt_replay *o = &r->out;
    if (!VT_ROOM(o->slices, o->nslices + 1, &r->slices_room)) return 0;
    if (o->want_slice_details && !VT_ROOM(o->slice_details, o->nslices + 1, &r->slice_details_room)) return 0;
    if (o->want_slice_details) o->slice_details[o->nslices] = (struct vt_slice_detail){own, f->number};
    o->slices[o->nslices++] =
        (struct vt_slice){begin, end, f->region, (uint32_t)r->out.depth, f->node, (uint32_t)r->repeats};
    return 1;
}

/* ---- The stack ---- */

/* A call with marks begins (+1) or ends (-1). */
static inline void mark(struct batch_replay *r, uint32_t region, int step)
{
    unsigned bits = r->out.mark_of ? r->out.mark_of[region] : 0;
    for (; bits; bits &= bits - 1) {
        const int i = __builtin_ctz(bits);
        r->marked[i] += (uint64_t)(int64_t)step;
        r->marks = (uint16_t)((r->marks & ~(1u << i)) | (r->marked[i] ? 1u << i : 0));
    }
}

/* Returns the path of a call with its site; 0 for a call without a site. */
static uint32_t site_path(struct batch_replay *r, int64_t t, uint32_t region, uint32_t site)
{
    struct vt_replay *o = &r->out;
    uint8_t kind = o->site_of[region];
    if (kind == VT_SITE_END && o->ended == INT64_MAX) o->ended = t;
    if (kind != VT_SITE_CALL || o->ended != INT64_MAX) return 0;
    if (site == VT_NONE && r->out.depth) site = r->out.stack[r->out.depth - 1].region;
    uint32_t around = path(r, 0, site);
    return around == VT_NONE ? VT_NONE : path(r, around, region);
}

/* Forgets all calls so far, which are earlier than the first VT_SITE_BEGIN. */
static void begin_sites(struct vt_replay *o, int64_t t)
{
    o->begun = t;
    for (uint64_t i = 0; i < o->ntouched_paths; i++)
        memset(&o->path_stats[o->touched_paths[i]], 0, sizeof *o->path_stats);
    o->ntouched_paths = 0;
}

/* site: of the call, for call sites; known: its call path. VT_NONE: none. */
static inline int push(struct batch_replay *r, int64_t t, uint32_t region, uint32_t site, uint32_t known)
{
    uint32_t around = r->out.depth ? r->out.stack[r->out.depth - 1].node : 0, node = 0;
    if (!VT_ROOM(r->out.stack, r->out.depth + 1, &r->frames_max)) return 0;
    if (r->out.site_of) node = site_path(r, t, region, site);
    else if (r->out.want_paths && known < r->out.npaths) node = known;
    else if (r->out.want_paths) node = path(r, around, region);
    if (node == VT_NONE) return 0;
    r->out.stack[r->out.depth++] = (struct vt_checkpoint_call){t, 0, 0, r->number, region, node};
    if (r->out.depth > r->out.deepest) r->out.deepest = r->out.depth;
    r->open[region]++;
    mark(r, region, 1);
    return 1;
}

static inline int enter(struct batch_replay *r, int64_t t, uint32_t region, uint32_t site, uint32_t known)
{
    if (region >= r->known) region = (uint32_t)r->out.nregions - 1;
    return push(r, t, region, site, known);
}

/* Returns 1 if neither calls nor times are in the sums of a call path. */
static inline int is_fresh(const struct vt_stats *s) { return !s->calls && !s->total; }

/* Adds the time of the innermost call f, whose depth is `depth`, from its enter to t, to its caller and without a call
   to its path. */
static void add_piece(struct batch_replay *r, struct vt_checkpoint_call *f, uint64_t depth, int64_t t)
{
    struct vt_replay *o = &r->out;
    struct vt_stats *s = &o->path_stats[f->node];
    const int64_t time = t - f->enter;
    if (!time) return;
    if (is_fresh(s)) o->touched_paths[o->ntouched_paths++] = f->node;
    s->total = sum_of(s->total, time);
    s->exclusive = sum_of(s->exclusive, sum_of(time, -f->inside));
    if (!depth || f[-1].node != f->node) s->inclusive = sum_of(s->inclusive, time);
    if (depth) f[-1].inside = sum_of(f[-1].inside, time);
}

/* Ends the innermost call f, which began before the last border, after o->depth calls around it. */
static __attribute__((noinline, cold)) int pop_kept(struct batch_replay *r, struct vt_checkpoint_call *f, int64_t t)
{
    struct vt_replay *o = &r->out;
    const int64_t began = r->began[o->depth], time = t - f->enter;
    const uint64_t calls = r->repeats;
    r->kept = o->depth;
    if (r->part > 1 || !o->from_border) {
        add_piece(r, f, o->depth, t);
        if (!VT_ROOM(o->crossings, o->ncrossings + 1, &r->crossings_room)) return 0;
        o->crossings[o->ncrossings++] = (struct vt_crossing){began, t, f->node, (uint32_t)calls};
        return 1;
    }
    const uint64_t share =
        calls > 1 && time < t - began ? (uint64_t)((wide)calls * (wide)time / (wide)(t - began)) : calls;
    struct vt_stats *s = &o->path_stats[f->node];
    if (is_fresh(s)) o->touched_paths[o->ntouched_paths++] = f->node;
    count_calls(share ? share : 1, s, time, sum_of(time, -f->inside), !o->depth || f[-1].node != f->node);
    if (o->depth) f[-1].inside = sum_of(f[-1].inside, time);
    return 1;
}

/* Ends the innermost call. */
static inline int pop(struct batch_replay *r, int64_t t)
{
    struct vt_replay *o = &r->out;
    struct vt_checkpoint_call *f = &r->out.stack[--r->out.depth];
    int outermost = !--r->open[f->region];
    mark(r, f->region, -1);
    if (__builtin_expect(r->out.depth < r->kept, 0)) return pop_kept(r, f, t);
    int64_t begin = within(o, f->enter), end = within(o, t), time = end - begin, own;
    if (__builtin_sub_overflow(time, f->inside, &own)) own = 0;
    if (f->enter > o->to || t < o->from) return 1; /* outside of from and to */
    if (__builtin_expect(r->repeats > 1 && time < t - f->enter, 0)) { /* a part of the calls is inside */
        const uint64_t part = (uint64_t)((wide)r->repeats * (wide)time / (wide)(t - f->enter));
        r->repeats = part ? part : 1;
    }
    if (r->out.depth) {
        f[-1].inside = sum_of(f[-1].inside, time);
        f[-1].flushed = sum_of(f[-1].flushed, f->region == o->flush_region ? time : f->flushed);
    }
    if (o->want_stats) {
        if (!o->regions[f->region].calls) o->touched[o->ntouched++] = f->region;
        count_calls(r->repeats, &o->regions[f->region], time, own, outermost);
    }
    if (is_runtime(r, f->region)) o->runtime = sum_of(o->runtime, own);
    if (o->site_of && o->site_of[f->region] == VT_SITE_BEGIN && o->begun == INT64_MIN) begin_sites(o, t);
    if (o->want_path_stats && (o->site_of ? f->node : o->want_paths)) {
        if (is_fresh(&o->path_stats[f->node])) o->touched_paths[o->ntouched_paths++] = f->node;
        /* Beyond paths_max a path also stands for the calls made from it: only the outermost call adds its time. */
        int same = r->out.depth && f[-1].node == f->node;
        int64_t took = o->site_of ? sum_of(time, -f->flushed) : time; /* a report of call sites omits flushes */
        count_calls(r->repeats, &o->path_stats[f->node], took, own, !same);
    }
    if (!o->want_slices || time < o->shortest || (o->slice_of && !o->slice_of[f->region])) return 1;
    return keep_slice(r, f, begin, end, own);
}

static inline int leave(struct batch_replay *r, int64_t t, uint32_t region)
{
    if (region >= r->known) region = (uint32_t)r->out.nregions - 1;
    if (__builtin_expect(r->out.depth && r->out.stack[r->out.depth - 1].region == region, 1)) return pop(r, t);
    uint64_t steps = 0;
    if (!r->open[region]) steps = r->out.depth;
    while (steps < r->out.depth && steps < SEARCH_MAX && r->out.stack[r->out.depth - 1 - steps].region != region)
        steps++;
    if (steps == r->out.depth || steps == SEARCH_MAX) {
        r->out.stray++;
        return 1;
    }
    int fine = 1;
    const uint64_t repeats = r->repeats;
    r->repeats = 1;
    for (uint64_t i = 0; fine && i < steps; i++) fine = pop(r, t);
    r->repeats = repeats;
    return fine && pop(r, t);
}

/* While a buffer is written, the call around the flush only waits. */
static int begin_flush(struct batch_replay *r, int64_t t, int64_t stop)
{
    pass(r, t);
    r->flushing = 1;
    r->flush_stop = stop > t ? stop : t;
    return push(r, t, (uint32_t)r->out.flush_region, VT_NONE, VT_NONE);
}

/* The next event is at t: other tools may write an event before the flush is over. */
static int end_flush(struct batch_replay *r, int64_t t)
{
    int64_t stop = t < r->flush_stop ? t : r->flush_stop;
    r->flushing = 0;
    pass(r, stop);
    return pop(r, stop);
}

/* The details and attributes of a batch whose calls are not set yet. */
struct rest {
    struct vt_detail *detail, *details_end;
    struct vt_read_attribute *attribute, *attributes_end;
};

/* Sets region, caller and node of the details and attributes of a row. */
static void place(const struct batch_replay *r, struct rest *rest, uint64_t row)
{
    uint32_t region = VT_NONE, caller = VT_NONE, node = 0;
    if (r->out.depth) {
        region = r->out.stack[r->out.depth - 1].region;
        node = r->out.stack[r->out.depth - 1].node;
    }
    if (r->out.depth > 1) caller = r->out.stack[r->out.depth - 2].region;
    for (; rest->detail < rest->details_end && rest->detail->row == row; rest->detail++) {
        rest->detail->region = region;
        rest->detail->caller = caller;
        rest->detail->node = node;
        rest->detail->marks = r->marks;
    }
    for (; rest->attribute < rest->attributes_end && rest->attribute->row == row; rest->attribute++) {
        rest->attribute->region = region;
        rest->attribute->caller = caller;
        rest->attribute->node = node;
    }
}

/* Returns the row of the next detail or attribute, before n. */
static inline uint64_t next_rest(const struct rest *rest, uint64_t n)
{
    if (rest->detail < rest->details_end && rest->detail->row < n) n = rest->detail->row;
    if (rest->attribute < rest->attributes_end && rest->attribute->row < n) n = rest->attribute->row;
    return n;
}

static inline int has_rest(const struct rest *rest, uint64_t row)
{
    return (rest->detail < rest->details_end && rest->detail->row == row) ||
           (rest->attribute < rest->attributes_end && rest->attribute->row == row);
}

/* Returns the site that an attribute of an Enter names; VT_NONE: none. */
static uint32_t named_site(const struct batch_replay *r, const struct rest *rest, uint64_t row)
{
    const struct vt_read_attribute *a = rest->attribute;
    if (!r->out.site_of) return VT_NONE;
    for (; a < rest->attributes_end && a->row == row; a++)
        if (a->attribute == r->out.site_attribute) return (uint32_t)a->value | VT_SITE_NAMED;
    return VT_NONE;
}

/* Returns the number of calls that a Leave ends. The runtime never joins more than VT_JOINED_MOST: other numbers are
   damage, and sums of them would overflow. */
static uint64_t ended_calls(const struct vt_batch *b, const struct rest *rest, uint64_t row)
{
    const struct vt_read_attribute *a = rest->attribute;
    for (; a < rest->attributes_end && a->row == row; a++)
        if (a->attribute + UINT64_C(1) == b->calls_attribute && a->value && a->value <= VT_JOINED_MOST) return a->value;
    return 1;
}

/* ---- Calls alone ---- */

/* Returns 1 if only the spans and checkpoints of the whole location are wanted. */
static int is_plain(const struct vt_replay *o)
{
    return o->want_spans && !o->want_stats && !o->want_paths && !o->want_slices && !o->want_nodes && !o->site_of &&
           !o->bins && o->from == INT64_MIN && o->to == INT64_MAX;
}

/* Returns a span of the innermost call, whose end is not known yet. */
static struct vt_span open_span(const struct vt_replay *o, uint64_t depth)
{
    if (!depth) return (struct vt_span){.region = VT_NONE};
    const uint32_t region = o->stack[depth - 1].region;
    return (struct vt_span){.region = region, .depth = (uint16_t)depth, .class = o->class_of[region]};
}

/* Follows the events of a plain replay from row i on, before row `stop`, as long as they are Enter events and the Leave
   events of the innermost call, in regions without marks. The result is that of the functions above, which check the
   options at each event. Returns the row of the next event. */
static uint64_t follow_calls(struct batch_replay *r, const struct vt_batch *b, uint64_t i, uint64_t stop)
{
    struct vt_replay *o = &r->out;
    const uint64_t room = r->frames_max < UINT16_MAX ? r->frames_max : UINT16_MAX;
    struct vt_checkpoint_call *stack = o->stack;
    struct vt_span *spans = o->spans + o->nspans;
    uint64_t depth = o->depth, deepest = o->deepest;
    if (r->flushing || r->marks >> VT_MARK_RUNTIME & 1) return i;
    const uint64_t first = i;
    for (; i < stop; i++) {
        const uint32_t region = b->ref[i];
        const int64_t t = b->time[i];
        if (region >= r->known || (o->mark_of && o->mark_of[region])) break;
        if (b->kind[i] == VT_READ_Enter) {
            if (depth >= room) break;
            *spans = open_span(o, depth);
            stack[depth++] = (struct vt_checkpoint_call){t, 0, 0, o->events + i + 1, region, 0};
            if (depth > deepest) deepest = depth;
            r->open[region]++;
        } else {
            if (b->kind[i] != VT_READ_Leave || !depth || stack[depth - 1].region != region) break;
            struct vt_checkpoint_call *f = &stack[depth - 1];
            *spans = open_span(o, depth--);
            r->open[region]--;
            if (depth) {
                f[-1].inside = sum_of(f[-1].inside, t - f->enter);
                if (__builtin_expect(f->flushed, 0)) f[-1].flushed = sum_of(f[-1].flushed, f->flushed);
            }
        }
        spans++->end = t;
    }
    if (i > first) r->now = b->time[i - 1];
    o->nspans = (uint64_t)(spans - o->spans);
    o->depth = depth;
    o->deepest = deepest;
    return i;
}

/* Returns 1 if sums and nodes of call paths of the whole location are wanted, and besides them at most some slices. */
static int is_tree(const struct vt_replay *o)
{
    return o->want_paths && o->want_path_stats && !o->want_stats && !o->want_spans && !o->want_checkpoints &&
           !o->site_of && !o->node_of && !o->bins && o->from == INT64_MIN && o->to == INT64_MAX;
}

/* Ends the innermost call, as pop does; the caller changes `open`. */
static inline void end_in_tree(struct batch_replay *r, struct vt_checkpoint_call *f, uint64_t depth, int64_t t)
{
    const int64_t time = t - f->enter;
    int64_t own;
    if (__builtin_sub_overflow(time, f->inside, &own)) own = 0;
    struct vt_stats *stats = &r->out.path_stats[f->node];
    if (is_fresh(stats)) r->out.touched_paths[r->out.ntouched_paths++] = f->node;
    count(stats, time, own, !depth || f[-1].node != f->node);
    mark(r, f->region, -1);
    if (__builtin_expect(is_runtime(r, f->region), 0)) r->out.runtime = sum_of(r->out.runtime, own);
    if (!depth) return;
    f[-1].inside = sum_of(f[-1].inside, time);
    if (__builtin_expect(f->flushed, 0)) f[-1].flushed = sum_of(f[-1].flushed, f->flushed);
}

/* Returns 1 if calls of a region are kept. */
static inline int of_slices(const struct vt_replay *o, uint32_t region)
{
    return o->want_slices && (!o->slice_of || o->slice_of[region]);
}

/* Keeps the call that ended, as keep_slice does; there is room. */
static inline void add_slice(struct vt_replay *o, const struct vt_checkpoint_call *f, uint64_t depth, int64_t t)
{
    if (t - f->enter < o->shortest) return;
    o->slices[o->nslices++] = (struct vt_slice){f->enter, t, f->region, (uint32_t)depth, f->node, 1};
}

/* Follows the events of a replay of the call tree from row i on, before row `stop`, as follow_calls does, also in
   regions with marks, and the events that are no calls. */
static uint64_t follow_tree(struct batch_replay *r, const struct vt_batch *b, struct rest *rest, uint64_t i,
                            uint64_t stop)
{
    struct vt_replay *o = &r->out;
    struct vt_checkpoint_call *const stack = o->stack;
    const uint32_t *const refs = b->ref;
    const uint8_t *const kinds = b->kind;
    const int64_t *const times = b->time;
    uint32_t *const nodes = o->want_nodes ? o->nodes : NULL;
    const uint64_t room = r->frames_max, known = r->known, before = o->events + 1, kept = r->kept;
    const int details = o->want_slice_details != 0;
    uint64_t next = next_rest(rest, b->count), depth = o->depth, deepest = o->deepest;
    uint64_t counted = depth; /* calls on the stack that `open` has: most calls end before it must have them */
    uint32_t node = depth ? stack[depth - 1].node : 0;
    if (r->flushing) return i;
    for (; i < stop; i++) {
        const uint32_t region = refs[i], kind = kinds[i];
        if (kind == VT_READ_Enter || kind == VT_READ_Leave) {
            if (i == next || region >= known) break;
            if (kind == VT_READ_Enter) {
                const uint32_t below = depth < room ? path(r, node, region) : VT_NONE;
                if (below == VT_NONE) break;
                node = below;
                stack[depth++] = (struct vt_checkpoint_call){times[i], 0, 0, before + i, region, node};
                if (depth > deepest) deepest = depth;
                mark(r, region, 1);
            } else {
                if (depth <= kept || stack[depth - 1].region != region) break;
                const int is_slice = of_slices(o, region);
                if (is_slice && (details || o->nslices >= r->slices_room)) break;
                if (--depth < counted) r->open[stack[--counted].region]--;
                end_in_tree(r, &stack[depth], depth, times[i]);
                if (is_slice) add_slice(o, &stack[depth], depth, times[i]);
                node = depth ? stack[depth - 1].node : 0;
            }
        } else if (kind == VT_READ_BufferFlush) break;
        else if (i == next) {
            o->depth = depth;
            place(r, rest, i);
            next = next_rest(rest, b->count);
        }
        if (nodes) nodes[i] = node;
    }
    while (counted < depth) r->open[stack[counted++].region]++;
    o->depth = depth;
    o->deepest = deepest;
    return i;
}

/* ---- Parts of time ---- */

/* Returns the first row from i on that is not before the next border. */
static uint64_t row_of_border(const struct batch_replay *r, const struct vt_batch *b, uint64_t i)
{
    uint64_t last = b->count;
    if (r->part >= r->out.nborders) return last;
    while (i < last) {
        const uint64_t middle = i + (last - i) / 2;
        if (b->time[middle] < r->out.borders[r->part]) i = middle + 1;
        else last = middle;
    }
    return last;
}

/* Moves the sums of the call paths to the parts. Returns 0 if there is no memory. */
static int keep_part(struct batch_replay *r)
{
    struct vt_replay *o = &r->out;
    if (!VT_ROOM(o->parts, o->nparts + o->ntouched_paths, &r->parts_room)) return 0;
    for (uint64_t i = 0; i < o->ntouched_paths; i++) {
        const uint32_t path = o->touched_paths[i];
        struct vt_stats *s = &o->path_stats[path];
        o->parts[o->nparts++] = (struct vt_path_part){s->calls, s->joined, s->inclusive, s->exclusive,     s->total,
                                                      s->min,   s->max,    path,         (uint32_t)r->part};
        memset(s, 0, sizeof *s);
    }
    o->ntouched_paths = 0;
    return 1;
}

/* Ends a part at its border: the open calls go on there as if they had just begun. Returns 0 if there is no memory. */
static int cut(struct batch_replay *r)
{
    struct vt_replay *o = &r->out;
    const int64_t border = o->borders[r->part];
    if (r->flushing && r->flush_stop < border && !end_flush(r, border)) return 0;
    if (!VT_ROOM(r->began, o->depth, &r->began_room)) return 0;
    for (uint64_t i = o->depth; i--;) {
        if (i >= r->kept) r->began[i] = o->stack[i].enter;
        add_piece(r, &o->stack[i], i, border);
    }
    for (uint64_t i = 0; i < o->depth; i++) o->stack[i].enter = border, o->stack[i].inside = 0;
    if (!keep_part(r)) return 0;
    r->kept = o->depth;
    r->part++;
    return 1;
}

VT_EXPORT int vt_replay_cut(struct vt_replay *out, int64_t ns)
{
    struct batch_replay *r = (struct batch_replay *)out;
    while (r->part < out->nborders && out->borders[r->part] <= ns)
        if (!cut(r)) return VT_READ_NO_MEMORY;
    return VT_READ_OK;
}

/* ---- Functions for Python ---- */

VT_EXPORT int vt_replay_batch(struct vt_replay *out, struct vt_batch *b)
{
    struct batch_replay *r = (struct batch_replay *)out;
    struct rest rest = {b->details, b->details, b->attributes, b->attributes};
    if (b->details) rest.details_end += b->ndetails; /* not even 0 may be added to NULL */
    if (b->attributes) rest.attributes_end += b->nattributes;
    out->nslices = 0;
    if (!clear_spans(r, b->count) || !clear_nodes(r, b->count)) return VT_READ_NO_MEMORY;
    r->known = out->flush_region == VT_NONE ? out->nregions : out->flush_region;
    uint64_t checkpoint = out->want_checkpoints ? out->checkpoints->next : UINT64_MAX;
    if (b->count && !out->events) out->first = r->now = b->time[0];
    const int plain = is_plain(out), tree = is_tree(out);
    uint64_t border = row_of_border(r, b, 0);
    for (uint64_t i = 0; i < b->count; i++) {
        if (plain) {
            const uint64_t stop = next_rest(&rest, b->count), last = out->events + 2;
            i = follow_calls(r, b, i, checkpoint >= last + stop ? stop : checkpoint > last ? checkpoint - last : 0);
            if (i == b->count) break;
        }
        if (tree && (i = follow_tree(r, b, &rest, i, border)) == b->count) break;
        if (__builtin_expect(i == border, 0)) {
            if (vt_replay_cut(out, b->time[i])) return VT_READ_NO_MEMORY;
            border = row_of_border(r, b, i--);
            continue;
        }
        int64_t t = b->time[i];
        int fine = 1, more = has_rest(&rest, i);
        const struct vt_detail *detail = rest.detail;
        r->number = out->events + i + 1;
        if (__builtin_expect(r->flushing, 0) && !end_flush(r, t)) return VT_READ_NO_MEMORY;
        if (b->kind[i] == VT_READ_Enter) {
            pass(r, t);
            fine = enter(r, t, b->ref[i], more ? named_site(r, &rest, i) : VT_NONE,
                         out->node_of ? out->node_of[i] : VT_NONE);
            if (more) place(r, &rest, i);
        } else {
            if (more && b->kind[i] == VT_READ_Leave) r->repeats = ended_calls(b, &rest, i);
            if (more) place(r, &rest, i);
            if (b->kind[i] == VT_READ_BufferFlush && out->flush_region != VT_NONE && rest.detail > detail)
                fine = begin_flush(r, t, vt_read_ns(b, detail->words[0]));
            if (b->kind[i] == VT_READ_Leave) {
                pass(r, t);
                fine = leave(r, t, b->ref[i]);
                r->repeats = 1;
            }
        }
        if (__builtin_expect(r->number + 1 >= checkpoint, 0) && !r->flushing) {
            fine = fine && vt_checkpoints_take(out->checkpoints, r->number + 1, t, out->stack, out->depth);
            checkpoint = out->checkpoints->next;
        }
        if (!fine) return VT_READ_NO_MEMORY;
        if (out->want_nodes) out->nodes[i] = r->out.depth ? r->out.stack[r->out.depth - 1].node : 0;
    }
    if (b->count) out->last = b->time[b->count - 1];
    if (b->count && out->want_spans) pass(r, out->last);
    out->events += b->count;
    return VT_READ_OK;
}

VT_EXPORT int vt_replay_add_paths(struct vt_replay *out, const struct vt_path *paths, uint64_t n)
{
    struct batch_replay *r = (struct batch_replay *)out;
    out->paths_max += n;
    for (uint64_t i = 0; i < n; i++)
        if (paths[i].parent > i || add_path(r, paths[i].parent, paths[i].region) != i + 1) return VT_READ_NO_MEMORY;
    return VT_READ_OK;
}

VT_EXPORT int vt_replay_until(struct vt_replay *out, int64_t ns)
{
    struct batch_replay *r = (struct batch_replay *)out;
    out->nslices = 0;
    if (!clear_spans(r, 1)) return VT_READ_NO_MEMORY;
    return !r->flushing || r->flush_stop >= ns || end_flush(r, ns) ? VT_READ_OK : VT_READ_NO_MEMORY;
}

VT_EXPORT int vt_replay_end(struct vt_replay *out, int64_t ns)
{
    struct batch_replay *r = (struct batch_replay *)out;
    int fine = clear_spans(r, 1);
    out->nslices = 0;
    if (!fine) return VT_READ_NO_MEMORY;
    if (r->flushing) {
        if (ns < r->flush_stop) ns = r->flush_stop;
        if (out->last < r->flush_stop) out->last = r->flush_stop;
    }
    if (ns > out->to) ns = out->to;
    if (vt_replay_cut(out, ns)) return VT_READ_NO_MEMORY;
    if (r->flushing) fine = end_flush(r, ns);
    out->closed += r->out.depth;
    if (out->events) pass(r, ns);
    while (fine && r->out.depth) fine = pop(r, ns);
    if (out->nborders) fine = fine && keep_part(r);
    for (uint64_t i = 0; i < out->ntouched; i++) spread(&out->regions[out->touched[i]]);
    for (uint64_t i = 0; i < out->ntouched_paths; i++) spread(&out->path_stats[out->touched_paths[i]]);
    return fine ? VT_READ_OK : VT_READ_NO_MEMORY;
}

VT_EXPORT void vt_replay_begin(struct vt_replay *out)
{
    struct batch_replay *r = (struct batch_replay *)out;
    while (r->out.depth) r->open[r->out.stack[--r->out.depth].region] = 0;
    for (uint64_t i = 0; i < out->ntouched; i++) memset(&out->regions[out->touched[i]], 0, sizeof *out->regions);
    for (uint64_t i = 0; i < out->ntouched_paths; i++)
        memset(&out->path_stats[out->touched_paths[i]], 0, sizeof *out->path_stats);
    memset(r->marked, 0, sizeof r->marked);
    r->marks = 0;
    out->ntouched = out->ntouched_paths = out->nslices = out->nspans = 0;
    out->stray = out->closed = out->events = out->deepest = 0;
    out->runtime = 0;
    out->first = out->last = r->now = 0;
    vt_checkpoints_begin(out->checkpoints);
    r->flushing = 0;
    r->part = r->kept = out->nparts = out->ncrossings = 0;
    out->begun = INT64_MIN;
    out->ended = INT64_MAX;
}

VT_EXPORT int vt_replay_resume(struct vt_replay *out, uint64_t number, int64_t time,
                               const struct vt_checkpoint_call *calls, uint64_t n)
{
    struct batch_replay *r = (struct batch_replay *)out;
    vt_replay_begin(out);
    r->known = out->nregions;
    for (uint64_t i = 0; i < n; i++) {
        if (!enter(r, calls[i].enter, calls[i].region, VT_NONE, VT_NONE)) return VT_READ_NO_MEMORY;
        struct vt_checkpoint_call *call = &out->stack[i];
        call->inside = calls[i].inside;
        call->flushed = calls[i].flushed;
        call->number = calls[i].number;
    }
    out->events = number - 1;
    out->first = out->last = r->now = time;
    return VT_READ_OK;
}

VT_EXPORT void vt_replay_drop_checkpoints(struct vt_replay *out, uint64_t n, uint64_t ncalls)
{
    struct vt_checkpoints *c = out->checkpoints;
    c->count -= n;
    c->ncalls -= ncalls;
    if (n) memmove(c->list, c->list + n, c->count * sizeof *c->list);
    if (ncalls) memmove(c->calls, c->calls + ncalls, c->ncalls * sizeof *c->calls);
}

VT_EXPORT struct vt_replay *vt_replay_new(uint64_t nregions, uint64_t want_paths)
{
    struct batch_replay *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->out.nregions = nregions;
    r->repeats = 1;
    r->out.want_paths = want_paths;
    r->out.paths_max = 1u << 20;
    r->out.to = INT64_MAX;
    r->out.flush_region = VT_NONE;
    r->out.npaths = 1;
    r->out.regions = calloc(nregions, sizeof *r->out.regions);
    r->out.touched = calloc(nregions, sizeof *r->out.touched);
    r->open = calloc(nregions, sizeof *r->open);
    r->out.checkpoints = vt_checkpoints_new();
    if (r->out.regions && r->out.touched && r->open && r->out.checkpoints && grow_paths(r) && grow_hash(r)) {
        r->out.paths[0] = (struct vt_path){0, VT_NONE};
        return &r->out;
    }
    vt_replay_free(&r->out);
    return NULL;
}

VT_EXPORT void vt_replay_free(struct vt_replay *out)
{
    struct batch_replay *r = (struct batch_replay *)out;
    if (!r) return;
    vt_checkpoints_free(out->checkpoints);
    void *all[] = {out->regions, out->touched,       out->paths, out->path_stats, out->touched_paths,
                   out->slices,  out->slice_details, out->spans, out->nodes,      out->stack,
                   out->parts,   out->crossings,     r->open,    r->children,     r->began};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    free(r);
}
