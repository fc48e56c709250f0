/* SPDX-License-Identifier: BSD-3-Clause */
/* Replays the records of a full chunk: finds their number, their classes and the open regions. The fast path of an
   event stores none of these. The class NEW_CODE says that the chunk has functions that the location has probably not
   called before: pass 1 of vtunify reads only such blocks to find the functions that need a name. Calls with the same
   shape as an earlier one are compared, not walked: 0.7 instead of 2.6 ns a record. */
#include "location.h"

const uint32_t vt_kinds[256] = {[VT_FUNCTION >> 24 ... 255] = VT_CLASS_FUNCTION | VT_KIND_COUNTED | VT_KIND_STACK,
#define KIND(name, number, words, class, id, stack, role, ...)                                                         \
    [number] = VT_CLASS_##class | (VT_RECORD_##role & VT_COUNTED ? VT_KIND_COUNTED : 0) |                              \
               (uint32_t)VT_STACK_##stack << VT_KIND_STACK_SHIFT,
                                VT_KINDS(KIND)
#undef KIND
};

/* State of the replay. The state is separate from the location, so that the compiler keeps the state in registers. */
struct replay_state {
    uint32_t depth, found;
    uint64_t *open;
    uint32_t *filter;
};

static inline void enter(struct replay_state *k, uint64_t what)
{
    if (VT_LIKELY(k->depth < VT_OPEN_MAX)) k->open[k->depth] = what;
    k->depth++;
}

/* A leave also ends all regions entered after its own: longjmp and exceptions skip their leave events. For regions
   deeper than VT_OPEN_MAX only the depth is counted. */
static inline void leave(struct replay_state *k, uint64_t what)
{
    if (VT_LIKELY(k->depth && k->depth <= VT_OPEN_MAX && k->open[k->depth - 1] == what)) {
        k->depth--;
        return;
    }
    if (k->depth > VT_OPEN_MAX) {
        k->depth--;
        return;
    }
    for (uint32_t i = k->depth; i > 0; i--)
        if (k->open[i - 1] == what) {
            k->depth = i - 1;
            return;
        }
}

/* Notes if the location has probably not recorded this function before. */
static inline void meet(struct replay_state *k, uint32_t offset)
{
    uint32_t *slot = &k->filter[(offset * 0x9e3779b1u) >> 21];
    if (VT_LIKELY(*slot == offset)) return;
    *slot = offset;
    k->found |= VT_CLASS_NEW_CODE;
}

/* Handles a record that is not a function event. */
static inline void other(struct replay_state *k, uint32_t what, const uint64_t *payload)
{
    k->found |= vt_kinds[VT_KIND(what)];
    switch (vt_effect(what)) {
    case VT_STACK_NONE: break;
    case VT_STACK_ENTER: enter(k, VT_WHAT(VT_K_ENTER, 0, VT_ID(what))); break;
    case VT_STACK_LEAVE: leave(k, VT_WHAT(VT_K_ENTER, 0, VT_ID(what))); break;
    case VT_STACK_ENTER_ADDRESS: enter(k, *payload | VT_OPEN_ADDRESS); break;
    case VT_STACK_LEAVE_ADDRESS: leave(k, *payload | VT_OPEN_ADDRESS); break;
    case VT_STACK_END: k->depth = 0; break;
    }
}

/* Returns 1 if the n words at w begin with a call of the shape c. */
static inline int is_like(const struct vt_shape *c, const uint64_t *w, uint32_t n)
{
    uint32_t i = 0;
    if (VT_UNLIKELY(c->words > n)) return 0;
    while (i < c->records && (uint32_t)w[c->at[i]] == c->what[i]) i++;
    return i && i == c->records;
}

/* Returns the number of calls of shape c in a row at w: a loop over messages writes hundreds of them. The compared
   words stay in registers, so that a call takes a third of the time of is_like. Returns 0 if the shape has more than 4
   records. */
static inline uint32_t alike(const struct vt_shape *c, const uint64_t *w, uint32_t n)
{
    const uint32_t words = c->words, last = c->records - 1;
    const uint32_t second = last > 1 ? 1 : last, third = last > 2 ? 2 : last;
    const uint32_t at[3] = {c->at[second], c->at[third], c->at[last]};
    const uint32_t what[4] = {c->what[0], c->what[second], c->what[third], c->what[last]};
    uint32_t calls = 0;
    if (last > 3) return 0;
    for (uint32_t i = 0; n - i >= words; i += words, calls++)
        if ((uint32_t)w[i] != what[0] || (uint32_t)w[i + at[0]] != what[1] || (uint32_t)w[i + at[1]] != what[2] ||
            (uint32_t)w[i + at[2]] != what[3])
            break;
    return calls;
}

/* Learns the shape of the call that begins at w. Returns 0 if no call begins there, or if the call is too long. */
static int learn(struct vt_shape *c, const uint64_t *w, uint32_t n)
{
    c->classes = 0;
    for (c->records = c->words = 0; c->words < n && c->records < VT_SHAPE_RECORDS;) {
        uint32_t what = (uint32_t)w[c->words], kind = vt_kinds[what >> 24];
        int ends = vt_effect(what) == VT_STACK_LEAVE;
        if (what & VT_FUNCTION || (c->records && kind & VT_KIND_STACK && !ends)) break;
        if (ends && VT_ID(what) != VT_ID(*c->what)) break;
        c->classes |= kind;
        c->what[c->records] = what;
        c->at[c->records++] = (uint8_t)c->words;
        c->words += 1 + (what >> 21 & 7);
        if (ends) return 1;
    }
    c->records = 0;
    return 0;
}

/* Skips the records that do not change the stack: a call such as MPI_Waitall writes hundreds of them. Between equal
   records the position of the next record is known before its first word is loaded. */
static inline uint32_t inside(const uint64_t *w, uint32_t i, uint32_t n, uint32_t *count, uint32_t *found)
{
    while (i < n) {
        const uint32_t what = (uint32_t)w[i], kind = vt_kinds[what >> 24], words = 1 + (what >> 21 & 7);
        if (kind & VT_KIND_STACK) break;
        *found |= kind;
        do {
            ++*count;
            i += words;
        } while (i < n && (uint32_t)w[i] == what);
    }
    return i;
}

/* Replays from word i up to the next function event. Returns the index of its first word, or n. */
static __attribute__((noinline)) uint32_t others(struct replay_state *k, struct vt_shapes *shapes, const uint64_t *w,
                                                 uint32_t i, uint32_t n, uint32_t *records)
{
    struct vt_shape *last = shapes->last;
    uint32_t count = 0, found = 0;
    while (i < n) {
        if (VT_LIKELY(is_like(last->next, w + i, n - i))) {
            last = last->next;
            const uint32_t calls = last->next == last ? 1 + alike(last, w + i + last->words, n - i - last->words) : 1;
            i += calls * last->words;
            count += calls * last->records;
            found |= last->classes;
            continue;
        }
        uint32_t what = (uint32_t)w[i];
        if (!(vt_kinds[what >> 24] & VT_KIND_STACK)) {
            i = inside(w, i, n, &count, &found);
            continue;
        }
        if (what & VT_FUNCTION) break;
        struct vt_shape *c = &shapes->of[VT_ID(what) & (VT_SHAPES - 1)];
        if (vt_effect(what) == VT_STACK_ENTER && (is_like(c, w + i, n - i) || learn(c, w + i, n - i))) {
            last->next = c;
            continue;
        }
        other(k, what, w + i + 1);
        i += 1 + (what >> 21 & 7);
        count++;
    }
    shapes->last = last;
    k->found |= found;
    *records += count;
    return i;
}

void vt_replay(struct vt_location *l, struct vt_chunk *c)
{
    struct replay_state k = {l->depth, 0, l->open, l->filter}, copy;
    uint32_t n = c->used / 8, records = 0;
    const uint64_t *w = vt_chunk_words(c);
    if (!l->shapes.last) {
        l->shapes.last = l->shapes.of;
        for (unsigned i = 0; i < VT_SHAPES; i++) l->shapes.of[i].next = l->shapes.of;
    }
    for (uint32_t i = 0; i < n;) {
        uint32_t what = (uint32_t)w[i];
        if (!VT_LIKELY(what & VT_FUNCTION)) {
            copy = k; /* the address of k is not passed, so that k stays in registers */
            i = others(&copy, &l->shapes, w, i, n, &records);
            k = copy;
            continue;
        }
        if (what & VT_FUNCTION_LEAVE) leave(&k, what & ~VT_FUNCTION_LEAVE);
        else {
            meet(&k, what & VT_CODE_MASK);
            enter(&k, what);
        }
        k.found |= VT_CLASS_FUNCTION;
        i++;
        records++;
    }
    l->depth = k.depth;
    l->nopen = k.depth < VT_OPEN_MAX ? k.depth : VT_OPEN_MAX;
    c->records = records;
    c->classes = k.found & VT_KIND_CLASSES;
    VT_SET(l->records, l->records + records);
}

/* Returns the depth of the stack after n more words of records. open has room for VT_OPEN_MAX regions. *least becomes
   the smallest depth on the way, if that is smaller. */
uint32_t vt_replay_part(uint64_t *open, uint32_t depth, const uint64_t *words, uint32_t n, uint32_t *least)
{
    struct replay_state k = {depth, 0, open, NULL};
    for (uint32_t i = 0; i < n;) {
        uint32_t what = (uint32_t)words[i];
        if (!(what & VT_FUNCTION)) other(&k, what, words + i + 1);
        else if (what & VT_FUNCTION_LEAVE) leave(&k, what & ~VT_FUNCTION_LEAVE);
        else enter(&k, what);
        if (k.depth < *least) *least = k.depth;
        i += 1 + VT_WORDS(what);
    }
    return k.depth;
}

/* Returns the time (ticks) of the last published record of a chunk. lost: number of events that the records up to then
   report as lost. */
uint64_t vt_replay_times(struct vt_chunk *c, uint64_t *lost)
{
    uint32_t n = vt_chunk_used(c) / 8;
    const uint64_t *w = vt_chunk_words(c);
    uint64_t now = c->ticks;
    *lost = c->lost;
    for (uint32_t i = 0; i < n; i += 1 + VT_WORDS((uint32_t)w[i])) {
        uint32_t what = (uint32_t)w[i], kind = what & VT_FUNCTION ? 0 : VT_KIND(what);
        now += w[i] >> 32;
        if (kind == VT_K_TIME) now += w[i + 1];
        else if (kind == VT_K_LOST) *lost += w[i + 1];
    }
    return now;
}
