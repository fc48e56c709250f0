/* SPDX-License-Identifier: BSD-3-Clause */
/* Thins a full chunk: takes calls out that contain nothing that must stay, and counts them in the location's profile; with
   VT_BUDGET those shorter than a limit, with VT_KEEP all in the iterations that keep.c leaves out. The records that stay
   go into another chunk, of the state TAKING, which then takes the place of the first one. One word in the head of the
   first chunk says after each record how far this is: a reader of a dead process's buffer finds each call in the profile
   or in a chunk. */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>
#include "location.h"

#define HALF (VT_CHUNK_WORDS / 2) /* a chunk with more words is written */
#define NO_WORD UINT32_MAX
/* Held chunks that are thinned for each full one: the next iteration thins those of one of its length. */
#define AT_ONCE 2u
#define LOCK_WORDS 512u /* in which a lock must be released, for its calls to go */
#define MARK_WORDS 4 /* of a THINNED record with a TIME record */

struct pass {
    struct vt_location *l;
    struct vt_thin *t;
    struct vt_profile *profile;
    struct vt_chunk *from, *to; /* to: NULL for a look at the lengths of calls */
    uint64_t now, last; /* times of the record that is read, and of the last one in `to` */
    uint32_t in, out; /* words that are read, and words in `to` */
    uint32_t attributes; /* place of the first attribute of the next event, or NO_WORD */
    uint32_t odd; /* 1 if other records follow it */
    uint64_t before; /* time of the record before these attributes */
    struct vt_keep *keep; /* NULL: no iterations are looked for */
    struct vt_iteration iteration; /* the open one */
    uint32_t leaves_out; /* 1: calls are taken out whatever their length */
    struct vt_iteration earlier; /* the one that was open at the end of the last walk over the chunk */
    uint32_t held_from; /* of a held chunk: the words from here on belong to an iteration that is left out */
};

/* ---- Regions ---- */

static void *thinnable; /* a bit for each id */

void vt_thin_region(uint32_t id, uint8_t paradigm, uint8_t role)
{
    uint8_t *bits = vt_process.set.budget ? vt_pages_once(&thinnable, VT_ID_MAX / 8 + 1) : NULL;
    const int is_io = role == VT_ROLE_FILE_IO || role == VT_ROLE_FILE_IO_METADATA;
    const int is_memory = role >= VT_ROLE_ALLOCATE && role <= VT_ROLE_REALLOCATE;
    if (bits && (paradigm == VT_PARADIGM_COMPILER || (paradigm == VT_PARADIGM_NONE && (is_io || is_memory))))
        __atomic_fetch_or(&bits[id / 8], 1u << id % 8, __ATOMIC_RELAXED);
}

/* what: as in vt_chunk.open. */
static int may_go(uint64_t what)
{
    const uint32_t id = VT_ID((uint32_t)what);
    if (what & VT_OPEN_ADDRESS || what & VT_FUNCTION) return 1;
    const uint8_t *bits = __atomic_load_n(&thinnable, __ATOMIC_ACQUIRE);
    return bits && VT_READ(bits[id / 8]) >> id % 8 & 1;
}

/* ---- Records that stay ---- */

static void put(struct pass *p, uint64_t word)
{
    if (p->to) vt_chunk_words(p->to)[p->out] = word;
    p->out++;
}

static void put_head(struct pass *p, uint32_t what)
{
    uint64_t since = p->now - p->last;
    if (since >> 32) {
        put(p, VT_HEAD(VT_K_TIME, 1, 0));
        put(p, since);
        since = 0;
    }
    put(p, since << 32 | what);
    p->last = p->now;
}

static void keep(struct pass *p, const uint64_t *w, uint32_t words)
{
    put_head(p, (uint32_t)*w);
    for (uint32_t i = 1; i < words; i++) put(p, w[i]);
}

static struct vt_thin_call *top(struct pass *p) { return p->t->depth ? &p->t->calls[p->t->depth - 1] : NULL; }

/* The open calls stay, since something in them must. */
static void pin(struct pass *p)
{
    if (p->t->depth) top(p)->stays = 1;
}

/* States the limit, at the first call that is thinned with it. */
static void tell(struct pass *p)
{
    if (!p->to || p->t->told == p->t->bits || p->out + MARK_WORDS > p->in) return;
    put_head(p, (uint32_t)VT_HEAD(VT_K_THINNED, 1, 0));
    put(p, UINT64_C(1) << p->t->bits);
    p->t->told = p->t->bits;
    pin(p);
}

/* ---- Calls ---- */

/* The row of a region at a level of the path; NULL: the table is full. */
static struct vt_profile_row *row_at(struct pass *p, uint32_t level, const struct vt_profile_row *around, uint64_t what)
{
    if (level > VT_PROFILE_DEPTH) return NULL;
    struct vt_profile_row **known = &p->profile->stack[level]; /* of the last call at this level */
    if (!*known || (*known)->what != what || (*known)->parent != around->number)
        *known = vt_profile_row(p->l, around, what);
    return *known;
}

/* The row of the innermost open call; NULL: the table is full. A level that the head of the chunk does not state has that
   of the call around it. Regions of teams are levels, too. */
static struct vt_profile_row *row_of_top(struct pass *p)
{
    struct vt_thin *t = p->t;
    const struct vt_thin_levels *teams = &t->levels;
    uint32_t i = t->depth, team = 0, level;
    while (i && !t->calls[i - 1].row) i--;
    while (team < teams->n && teams->of[team].depth < i) team++;
    level = i + team;
    struct vt_profile_row *row = i ? t->calls[i - 1].row : p->profile->stack[0];
    for (; row && i < t->depth; i++) {
        struct vt_thin_call *call = &t->calls[i];
        for (; row && team < teams->n && teams->of[team].depth <= i; team++, level++)
            if (teams->of[team].what) row = row_at(p, level + 1, row, teams->of[team].what);
        if (row && call->what) row = row_at(p, level + 1, row, call->what);
        call->row = row;
        level++;
    }
    return row;
}

static void begin_call(struct pass *p, uint64_t what, uint32_t words)
{
    struct vt_thin *t = p->t;
    const int has = p->attributes != NO_WORD;
    if (t->depth == VT_THIN_DEPTH) {
        pin(p);
        t->beyond++;
        return;
    }
    t->calls[t->depth++] = (struct vt_thin_call){.what = what,
                                                 .entered = p->now,
                                                 .before = has ? p->before : p->last,
                                                 .at = has ? p->attributes : p->out,
                                                 .words = words,
                                                 .first = has ? NO_WORD : p->in + words,
                                                 .stays = p->odd || !(p->leaves_out || may_go(what))};
}

static uint32_t bits_of(uint64_t ticks) { return ticks ? 64 - (uint32_t)__builtin_clzll(ticks) : 0; }

/* Counts a call, and takes it out. Returns 0 if the profile has no room. */
static int count_call(struct pass *p, const struct vt_thin_call *call)
{
    struct vt_profile_row *row = row_of_top(p);
    if (!row) return 0;
    vt_profile_add_time(row, p->now - call->entered);
    atomic_signal_fence(memory_order_seq_cst);
    row->out += call->out;
    row->in += call->in;
    VT_SET(row->entered, call->entered);
    VT_SET(row->turns, row->turns + 2);
    p->out = call->at;
    p->last = call->before;
    p->iteration.lacks |= p->leaves_out;
    return 1;
}

/* ---- Locks: a call that gets a lock without a wait goes with the one that releases it, in the same chunk ---- */

static uint64_t *place_of_lock(struct vt_thin *t, uint64_t lock)
{
    for (uint32_t i = 0; i < VT_THIN_LOCKS; i++)
        if (t->locks[i] == lock) return &t->locks[i];
    return NULL;
}

static int is_short(const struct pass *p, uint64_t ticks)
{
    const uint32_t bits = bits_of(ticks);
    return bits <= (p->to ? p->t->bits : VT_THIN_BITS);
}

static int is_leave(uint64_t word)
{
    const uint32_t what = (uint32_t)word;
    return !(what & VT_FUNCTION) && VT_KIND(what) == VT_K_LEAVE;
}

/* Returns 1 if a short call that only releases the lock follows the record at w, after a short time: others may wait for
   the end of a long one. */
static int is_released(const struct pass *p, const uint64_t *w)
{
    const uint64_t *const end = vt_chunk_words(p->from) + p->from->used / 8, lock = w[1];
    uint64_t ticks = 0;
    uint32_t before = 0;
    for (const uint64_t *at = w + 2; at + 2 < end && at < w + LOCK_WORDS; at += 1 + VT_WORDS((uint32_t)*at)) {
        const uint32_t what = (uint32_t)*at, kind = what & VT_FUNCTION ? VT_K_ENTER : VT_KIND(what);
        ticks += *at >> 32;
        if (kind == VT_K_TIME || !is_short(p, ticks)) return 0;
        if (kind == VT_K_RELEASE_LOCK && at[1] == lock)
            return before == VT_K_ENTER && is_leave(at[2]) && is_short(p, ticks + (at[2] >> 32));
        before = what & VT_FUNCTION ? 0 : kind;
    }
    return 0;
}

/* The record at w gets or releases a lock. Returns 1 if the call may go. */
static int lock_goes(struct pass *p, const uint64_t *w)
{
    struct vt_thin_call *call = top(p);
    const int gets = VT_KIND((uint32_t)*w) == VT_K_ACQUIRE_LOCK;
    const uint64_t *const end = vt_chunk_words(p->from) + p->from->used / 8;
    if (!call || p->t->beyond || VT_ID((uint32_t)*w) != VT_PARADIGM_PTHREAD || p->attributes != NO_WORD) return 0;
    if (!vt_process.set.budget || p->leaves_out || p->in != call->first || w + 2 >= end) return 0;
    uint64_t *place = place_of_lock(p->t, gets ? 0 : w[1]);
    if (!place || !is_leave(w[2])) return 0;
    if (gets && !(is_short(p, p->now + (w[2] >> 32) - call->entered) && is_released(p, w))) return 0;
    if (!gets) *place = 0;
    else call->lock = *place = w[1];
    call->stays = 0;
    return 1;
}

/* A call that gets a lock stays after all, and so does the one that releases it. */
static void lock_stays(struct pass *p, const struct vt_thin_call *call)
{
    uint64_t *place = call->lock ? place_of_lock(p->t, call->lock) : NULL;
    if (place) *place = 0;
}

/* Ends the innermost call with the record at w. */
static void end_call(struct pass *p, const uint64_t *w, uint32_t words)
{
    struct vt_thin *t = p->t;
    struct vt_thin_call *call = top(p);
    const uint32_t bits = bits_of(p->now - call->entered);
    call->words += words;
    if (p->in >= t->from) {
        t->words += call->words;
        if (!call->stays && bits <= VT_THIN_BITS) t->by_bits[bits] += call->words;
    }
    const int is_out = p->to && (p->leaves_out || (t->bits && bits <= t->bits));
    const int goes = !call->stays && is_out && count_call(p, call);
    const int stays = call->stays || (is_out && !goes);
    if (!goes) keep(p, w, words);
    if (!goes && p->to) lock_stays(p, call);
    t->depth--;
    if (stays) pin(p);
    if (goes && !p->leaves_out) tell(p);
}

/* A leave also ends all calls inside its own, as in replay.c. */
static void leave(struct pass *p, uint64_t what, const uint64_t *w, uint32_t words)
{
    struct vt_thin *t = p->t;
    if (!t->beyond && t->depth && top(p)->what == what) {
        end_call(p, w, words);
        return;
    }
    if (t->beyond) t->beyond--;
    else {
        uint32_t i = t->depth;
        while (i && t->calls[i - 1].what != what && t->calls[i - 1].what) i--;
        if (i) t->depth = i - 1;
    }
    pin(p);
    keep(p, w, words);
}

/* ---- Iterations ---- */

static void begin_iteration(struct pass *p, uint32_t words)
{
    struct vt_iteration *i = &p->iteration;
    i->at = p->t->depth;
    i->entered = p->now;
    i->index++;
    i->number++;
    i->begin = p->to ? p->out : p->in + words;
    i->lacks = i->index == p->earlier.index ? p->earlier.lacks : 0; /* this walk may continue an earlier one */
    top(p)->stays = 1;
    if (!p->to) vt_keep_begins(p->keep, i);
    else p->leaves_out = p->keep->fates[i->index] == VT_LEFT_OUT;
}

static void end_iteration(struct pass *p)
{
    struct vt_iteration *i = &p->iteration;
    if (!p->to && p->in >= p->keep->seen) vt_keep_ends(p->keep, i, p->now);
    if (p->leaves_out && i->lacks) {
        put_head(p, (uint32_t)VT_HEAD(VT_K_LEFT_OUT, 1, 0));
        put(p, p->now - i->entered);
        pin(p);
    }
    i->at = i->lacks = p->leaves_out = 0;
}

/* ---- Bytes ---- */

/* Adds the bytes that a record of I/O or memory states to the innermost call, as profile_fold.c does. w: the words after the
   first one. */
static void add_bytes(struct pass *p, uint32_t what, const uint64_t *w)
{
    struct vt_thin_call *call = top(p);
    switch (call ? VT_KIND(what) : VT_K_TIME) {
    case VT_K_IO_READ: call->writes = 0; break;
    case VT_K_IO_WRITE: call->writes = 1; break;
    case VT_K_IO_DONE:
        if (w[0] != VT_IO_UNKNOWN) *(call->writes ? &call->out : &call->in) += w[0];
        break;
    case VT_K_ENTER_ALLOC: call->out += w[0]; break;
    case VT_K_ENTER_FREE: call->in += w[1]; break;
    case VT_K_ENTER_REALLOC:
        call->out += w[2];
        call->in += w[1];
        break;
    default: break;
    }
}

/* ---- The pass ---- */

/* Records that go with the call around them. */
static int goes_with_call(uint32_t kind)
{
    return kind == VT_K_IO_READ || kind == VT_K_IO_WRITE || kind == VT_K_IO_FLUSH || kind == VT_K_IO_DONE ||
           kind == VT_K_IO_SEEK;
}

/* A record that neither begins nor ends a call. */
static void other(struct pass *p, const uint64_t *w, uint32_t words)
{
    const uint32_t kind = VT_KIND((uint32_t)*w);
    int goes = kind == VT_K_ATTRIBUTE;
    if (kind == VT_K_METRIC && p->keep && !p->to && p->in >= p->keep->seen) vt_trigger_value(p->keep, w);
    if (kind == VT_K_ATTRIBUTE) {
        if (p->attributes == NO_WORD) {
            p->attributes = p->out;
            p->before = p->last;
        }
    } else {
        const int is_lock = kind == VT_K_ACQUIRE_LOCK || kind == VT_K_RELEASE_LOCK;
        goes = goes_with_call(kind) || (is_lock && lock_goes(p, w));
        p->odd |= p->attributes != NO_WORD;
        if (!goes) pin(p);
        if (vt_kinds[kind] & VT_CLASS_TEAM) vt_thin_team(&p->t->levels, (uint32_t)*w, w + 1, p->t->depth);
    }
    if (p->to && goes_with_call(kind)) add_bytes(p, (uint32_t)*w, w + 1);
    if (p->t->depth && goes) top(p)->words += words;
    else if (p->in >= p->t->from) p->t->words += words;
    if (kind != VT_K_THINNED || !p->to || p->t->told == p->t->bits) {
        keep(p, w, words);
        return;
    }
    put_head(p, (uint32_t)*w); /* calls before the next record of this kind are thinned by the new limit, too */
    put(p, UINT64_C(1) << p->t->bits);
    p->t->told = p->t->bits;
}

static void call_record(struct pass *p, enum vt_stack_effect effect, const uint64_t *w, uint32_t words)
{
    const uint32_t what = (uint32_t)*w;
    uint64_t region = VT_WHAT(VT_K_ENTER, 0, VT_ID(what));
    if (what & VT_FUNCTION) region = what & ~VT_FUNCTION_LEAVE;
    if (effect == VT_STACK_ENTER_ADDRESS || effect == VT_STACK_LEAVE_ADDRESS) region = w[1] | VT_OPEN_ADDRESS;
    const int enters = effect == VT_STACK_ENTER || effect == VT_STACK_ENTER_ADDRESS;
    if (p->keep && !p->to && p->in >= p->keep->seen) vt_trigger_call(p->keep, region, enters, p->now);
    if (enters) {
        const int begins = p->keep && !p->iteration.at && p->t->depth < VT_THIN_DEPTH && vt_keep_is_iteration(region);
        begin_call(p, region, words);
        if (p->to && !(what & VT_FUNCTION) && !p->t->beyond) add_bytes(p, what, w + 1);
        keep(p, w, words);
        if (begins) begin_iteration(p, words);
    } else leave(p, region, w, words);
    if (p->t->depth < p->iteration.at) end_iteration(p);
    p->attributes = NO_WORD;
    p->odd = 0;
}

/* Handles the next record. */
static void step(struct pass *p, const uint64_t *w)
{
    const uint32_t what = (uint32_t)*w, words = 1 + VT_WORDS(what);
    p->now += *w >> 32;
    enum vt_stack_effect effect = VT_STACK_NONE;
    if (what & VT_FUNCTION) effect = what & VT_FUNCTION_LEAVE ? VT_STACK_LEAVE : VT_STACK_ENTER;
    else effect = vt_effect(what);
    if (!(what & VT_FUNCTION) && VT_KIND(what) == VT_K_TIME) p->now += w[1];
    else if (effect == VT_STACK_NONE) other(p, w, words);
    else if (effect == VT_STACK_END) {
        p->t->depth = p->t->beyond = p->t->levels.n = p->t->levels.beyond = 0;
        keep(p, w, words);
        if (p->iteration.at) end_iteration(p);
    } else call_record(p, effect, w, words);
    p->in += words;
}

typedef uint64_t __attribute__((may_alias)) progress;

static void walk(struct pass *p)
{
    struct vt_chunk *c = p->from;
    const uint64_t *w = vt_chunk_words(c);
    const uint32_t n = c->used / 8;
    struct vt_thin *t = p->t;
    t->depth = t->beyond = 0;
    t->levels = t->first;
    t->words = 0;
    memset(t->locks, 0, sizeof t->locks);
    memset(t->by_bits, 0, sizeof t->by_bits);
    for (uint32_t i = 0; i < c->depth && i < VT_THIN_DEPTH; i++)
        t->calls[t->depth++] = (struct vt_thin_call){.what = i < c->nopen ? c->open[i] : 0, .stays = 1};
    if (p->keep) p->iteration = p->keep->start;
    if (p->keep && !p->earlier.index) p->iteration.lacks |= p->earlier.lacks;
    if (p->keep && p->to) p->leaves_out = p->iteration.at && p->keep->fates[0] == VT_LEFT_OUT;
    while (p->in < n) {
        if (p->held_from != NO_WORD) p->leaves_out = p->in >= p->held_from;
        step(p, w + p->in);
        if (!p->to) continue;
        __atomic_store_n((progress *)(void *)&c->counted, p->in | (uint64_t)p->out << 32, __ATOMIC_RELEASE);
    }
}

static struct pass pass_over(struct vt_location *l, struct vt_chunk *c)
{
    return (struct pass){.l = l,
                         .t = l->thin,
                         .from = c,
                         .now = c->ticks,
                         .last = c->ticks,
                         .attributes = NO_WORD,
                         .held_from = NO_WORD};
}

static void void_mark(struct vt_location *l, const struct vt_chunk *c)
{
    if (l->mark.chunk != c) return;
    l->mark.chunk = NULL; /* a rewind cannot discard counted calls */
    l->mark.voided = 1;
}

/* Looks at the lengths of the calls in the current chunk, and decides which of its iterations stay. */
static void look(struct vt_location *l, struct vt_chunk *c)
{
    struct pass p = pass_over(l, c);
    struct vt_keep *k = p.keep = l->keep;
    if (k) p.earlier = k->open;
    walk(&p);
    if (!k) return;
    k->changed |= p.earlier.at && k->fates[p.earlier.index] == VT_LEFT_OUT;
    vt_keep_judged(k, &p.iteration, p.now);
    vt_trigger_walked(k, p.now);
    void_mark(l, c);
}

/* Compresses a chunk to see how many bytes a word takes, before any chunk is written. */
static void try_block(const struct vt_chunk *c)
{
    struct vt_codec_context *x = vt_codec_get();
    vt_budget_wrote(c->used, sizeof(struct vt_block) + vt_encode(x, c, c->used).bytes);
    vt_codec_put(x);
}

/* Prepares the chunk that gets the records of c that stay. Returns NULL if there is no memory. */
static struct vt_chunk *begin_taking(struct vt_location *l, const struct vt_chunk *c)
{
    struct vt_chunk *to = l->spare ? l->spare : vt_chunk_take();
    if (!to) return NULL;
    l->spare = NULL;
    memcpy(to, c, offsetof(struct vt_chunk, head));
    VT_SET(to->head, VT_CHUNK_DATA);
    to->content = c->content;
    to->classes = c->classes;
    memcpy(to->open, c->open, c->nopen * sizeof *c->open);
    to->counted = to->kept = 0;
    __atomic_store_n(&to->state, VT_CHUNK_TAKING, __ATOMIC_RELEASE);
    return to;
}

/* The chunk with the records that stay takes the place of the other one, and lasts until `last`. */
static void take_over(struct pass *p, uint64_t last, enum vt_chunk_state state)
{
    struct vt_chunk *c = p->from, *to = p->to;
    if (p->last != last) {
        put(p, VT_HEAD(VT_K_TIME, 1, 0));
        put(p, last - p->last);
    }
    uint64_t *end = vt_chunk_words(to) + p->out;
    __atomic_store_n(&to->head, (uint16_t)(uintptr_t)end, __ATOMIC_RELEASE);
    __atomic_store_n((progress *)(void *)&c->counted, p->in | (uint64_t)p->out << 32, __ATOMIC_RELEASE);
    __atomic_store_n(&to->state, (uint8_t)state, __ATOMIC_RELEASE);
}

/* Takes calls out of the current chunk; recording continues in another one. Returns the words there; 0: there is no
   memory. */
static uint32_t take(struct vt_location *l, struct pass *p)
{
    struct vt_chunk *c = p->from;
    p->profile = vt_profile_of(l);
    p->to = p->profile ? begin_taking(l, c) : NULL;
    if (!p->to) return 0;
    walk(p);
    take_over(p, l->last, VT_CHUNK_FILLING);
    if (atomic_load(&vt_process.state) == VT_ENDED) vt_chunk_give(c); /* its thread may still store a record */
    else {
        vt_chunk_keep(c);
        l->spare = c;
    }
    l->polls.end = NULL;
    l->cursor = vt_chunk_words(p->to) + p->out;
    VT_SET(l->chunk, p->to);
    void_mark(l, c);
    return p->out;
}

/* ---- Held chunks ---- */

/* Completes the head of a full chunk that has lost records of c. */
static void count_records(struct vt_location *l, const struct vt_chunk *c, struct vt_chunk *to)
{
    uint64_t open[VT_OPEN_MAX];
    const uint32_t depth = l->depth, nopen = l->nopen;
    memcpy(open, l->open, sizeof open);
    l->depth = c->depth;
    memcpy(l->open, c->open, sizeof open);
    to->used = vt_chunk_used(to);
    vt_replay(l, to);
    to->classes |= c->classes & VT_CLASS_NEW_CODE; /* the location knows these functions by now */
    to->end_ticks = c->end_ticks;
    VT_SET(l->records, l->records - c->records);
    l->depth = depth;
    l->nopen = nopen;
    memcpy(l->open, open, sizeof open);
}

/* Takes the calls out of a held chunk, from word `from` on. Returns the chunk that is in its place in the list. */
static struct vt_chunk *take_held(struct vt_location *l, struct vt_chunk *c, uint32_t from)
{
    struct pass p = pass_over(l, c);
    const struct vt_thin_levels levels = l->thin->levels, first = l->thin->first;
    p.held_from = from;
    l->thin->first.n = l->thin->first.beyond = 0; /* those of an earlier chunk are not known */
    p.profile = vt_profile_of(l);
    p.to = p.profile ? begin_taking(l, c) : NULL;
    if (p.to) walk(&p);
    l->thin->levels = levels;
    l->thin->first = first;
    if (!p.to) return c;
    take_over(&p, c->end_ticks, VT_CHUNK_TAKING);
    count_records(l, c, p.to);
    VT_SET(p.to->next, c->next);
    __atomic_store_n(&p.to->state, VT_CHUNK_FULL, __ATOMIC_RELEASE);
    vt_chunk_give(c);
    return p.to;
}

void vt_thin_held(struct vt_location *l, uint32_t most)
{
    struct vt_keep *k = l->keep;
    struct vt_chunk *before = NULL, *c = l->full;
    if (!k || !k->out) return;
    while (c && c != k->out) {
        before = c;
        c = vt_chunk_next(c);
    }
    for (k->out = c; k->out && most; most--) {
        const int is_end = c == k->out_end, is_last = c == l->full_last;
        c = take_held(l, c, k->held_out);
        if (before) VT_SET(before->next, (uint32_t)((uintptr_t)c / VT_CHUNK_SIZE));
        else l->full = c;
        if (is_last) l->full_last = c;
        before = c;
        c = vt_chunk_next(c);
        k->out = is_end ? NULL : c;
        k->held_out = 0;
    }
}

/* Takes calls out of a few held chunks of an iteration that is left out, so that no event waits long. */
static void take_some_held(struct vt_location *l, struct vt_keep *k)
{
    if (k->held && k->fates[0] == VT_LEFT_OUT) {
        vt_thin_held(l, UINT32_MAX);
        k->out = k->held;
        k->out_end = l->full_last;
        k->held_out = k->held_from;
        k->held = NULL;
        k->start.lacks = 1;
    }
    vt_thin_held(l, AT_ONCE);
}

/* ---- The current chunk ---- */

static struct vt_thin *thin_of(struct vt_location *l)
{
    if (!l->thin) l->thin = vt_pages_wiped(sizeof *l->thin);
    return l->thin;
}

/* Takes out what is to be counted only. Returns the words of the chunk; 0: it is as before. */
static uint32_t thin(struct vt_location *l, struct vt_chunk *c)
{
    struct vt_keep *k = vt_keep_of(l);
    struct pass p = pass_over(l, c);
    p.keep = k;
    if (k) p.earlier = k->open;
    if (!l->thin->bits || k) look(l, c);
    if (vt_process.set.budget) {
        if (!vt_budget_knows_blocks()) try_block(c);
        vt_budget_choose(l->thin, vt_clock_ns(CLOCK_MONOTONIC_RAW));
    }
    if (k) take_some_held(l, k);
    const uint32_t words = l->thin->bits || (k && k->changed) ? take(l, &p) : 0;
    if (!k) return words;
    if (words) k->open = p.iteration;
    k->seen = words ? words : c->used / 8;
    k->changed = 0;
    return words;
}

int vt_thin(struct vt_location *l)
{
    struct vt_chunk *c = l->chunk;
    struct vt_thin *t = c && vt_process.set.mode == VT_MODE_TRACE ? thin_of(l) : NULL;
    if (!t) return 0;
    c->used = vt_chunk_used(c);
    if (!t->since) t->since = vt_process.head.pair.mono;
    const uint32_t words = thin(l, c);
    t->from = words <= HALF ? words : 0;
    if (t->from) VT_SET(l->limit, vt_chunk_limit(l->chunk));
    return t->from != 0;
}

void vt_thin_finished(struct vt_location *l, struct vt_chunk *c)
{
    const uint64_t *w = vt_chunk_words(c);
    const uint32_t n = c->used / 8;
    uint32_t depth = c->depth;
    struct vt_thin *t = vt_process.set.budget && c->classes & VT_CLASS_TEAM ? thin_of(l) : NULL;
    if (!t) return;
    for (uint32_t i = 0; i < n; i += 1 + VT_WORDS((uint32_t)w[i])) {
        const uint32_t what = (uint32_t)w[i], effect = what & VT_FUNCTION ? VT_STACK_NONE : vt_effect(what);
        const int leaves = what & VT_FUNCTION ? (what & VT_FUNCTION_LEAVE) != 0
                                              : effect == VT_STACK_LEAVE || effect == VT_STACK_LEAVE_ADDRESS;
        if (effect == VT_STACK_END) depth = t->first.n = t->first.beyond = 0;
        else if (leaves) depth -= depth != 0;
        else if (what & VT_FUNCTION || effect != VT_STACK_NONE) depth++;
        else if (vt_kinds[what >> 24] & VT_CLASS_TEAM) vt_thin_team(&t->first, what, w + i + 1, depth);
    }
}

void vt_thin_last(struct vt_location *l)
{
    struct vt_keep *k = vt_keep_of(l);
    if (!k || !thin_of(l)) return;
    l->chunk->used = vt_chunk_used(l->chunk);
    if (k->seen != l->chunk->used / 8) thin(l, l->chunk);
    if (vt_chunk_used(l->chunk)) vt_keep_next_chunk(k, l->chunk);
}

void vt_thin_tell(struct vt_location *l)
{
    struct vt_thin *t = l->thin;
    t->from = 0;
    if (t->told == t->bits || t->bits > t->told) return; /* a higher limit is told at the first call */
    uint64_t *at = vt_stamp(l, l->cursor, VT_HEAD(VT_K_THINNED, 1, 0), l->last);
    *at++ = t->bits ? UINT64_C(1) << t->bits : 0;
    t->told = t->bits;
    vt_publish(l, at);
}
