/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of a thread's time that recording may take, VT_BUDGET=...,N%. Each thread has a credit, at most that of a second,
   which grows with the CPU time of the program and which recording uses up: recording takes its part of any time, and at
   most that of one second more. A thread looks at its credit at full chunks and after times without events. When half of
   it is used, the functions that its last records call most often and shortest are left out (funwrap/left_out.c). When it
   is full again they come back, the last ones first, each time after a longer pause.
   A thread that chooses holds `choosing` until the functions are switched; all that is static belongs to it. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "location.h"

#define SECOND 1000000000.0
#define LEAST_CALLS 4u /* in a chunk: to leave out a function with fewer calls saves nothing */
#define FIRST_PAUSE UINT64_C(1000000000) /* ns until functions come back */
#define LONGEST_PAUSE (3600 * FIRST_PAUSE)
#define ROUNDS 4 /* of the measurement at the start */
#define MOST_STEPS 64u
#define FUNCTIONS 4096u
#define DEPTH 1024u

_Atomic uint32_t vt_overhead_asks;
static _Atomic uint32_t choosing; /* lock */
static double word_ns; /* CPU time to record a word */
static struct vt_left_out request;
static struct {
    uint32_t first, location; /* first: of the functions left out; location: of the thread that was beyond its part */
} steps[MOST_STEPS];
static uint32_t nsteps, nout;
static uint64_t pause_ns = FIRST_PAUSE, not_before; /* not_before: ns at which functions may come back */
static int has_returned; /* 1: the last step was to let functions come back */

struct called {
    _Atomic uint64_t key; /* offset in the code space, plus 1; or PYTHON */
    uint64_t ticks;
    uint32_t calls, words; /* words: at the cost of one */
};
static struct work {
    uint32_t out[FUNCTIONS]; /* offsets of the functions that are left out, in the order of the steps */
    uint32_t python[FUNCTIONS]; /* those of Python of the present choice */
    struct called called[FUNCTIONS]; /* by the last chunk */
    struct {
        uint64_t entered;
        uint32_t what;
    } open[DEPTH];
} *work;

/* ---- The cost of a record ---- */

static __attribute__((noinline)) void record_one(struct vt_write_cursor *p)
{
    vt_cursor_begin(p);
    uint64_t *at = p->cursor, now = vt_now();
    *at = (now - p->last) << 32 | VT_FUNCTION;
    VT_SET(p->last, now);
    vt_cursor_publish(p, at + 1);
    vt_cursor_end(p);
}

void vt_overhead_start(void)
{
    const size_t bytes = 2 * VT_CHUNK_SIZE;
    char *memory = vt_process.set.overhead && word_ns == 0 ? vt_pages(bytes) : NULL;
    if (!memory) return;
    struct vt_chunk *c = (struct vt_chunk *)(((uintptr_t)memory + VT_CHUNK_SIZE - 1) & ~(uintptr_t)(VT_CHUNK_SIZE - 1));
    for (int i = 0; i < ROUNDS; i++) {
        struct vt_write_cursor p = {.cursor = vt_chunk_words(c), .last = vt_now()};
        const uint64_t begin = vt_clock_ns(CLOCK_MONOTONIC_RAW);
        while (p.cursor < vt_chunk_end(c)) record_one(&p);
        const double ns = (double)(vt_clock_ns(CLOCK_MONOTONIC_RAW) - begin) / VT_CHUNK_WORDS;
        if (!i || ns < word_ns) word_ns = ns;
    }
    VT_SYS2(munmap, memory, bytes);
}

/* ---- The calls of a chunk ---- */

#define PYTHON(entry) ((uint64_t)(entry) << 32) /* a key */

static struct called *entry_at(uint64_t key)
{
    return vt_table_entry(work->called, FUNCTIONS, sizeof *work->called, key);
}

static struct called *entry_of(uint32_t what) { return entry_at((what & VT_CODE_MASK) + UINT64_C(1)); }

/* What an event of Python costs beside its word, in words: the call, and to find the region. */
static uint32_t python_words(void) { return word_ns > 0 ? 1 + (uint32_t)(vt_python_event_ns() / word_ns) : 0; }

/* python: as from vt_python_entry; such a record has the form of that of another function here. */
static uint32_t function_record(uint32_t what, uint32_t python, uint64_t now, uint32_t depth, int counts)
{
    struct called *f = !counts ? NULL : python ? entry_at(PYTHON(python)) : entry_of(what);
    if (f) f->words += 1 + (python ? python_words() : 0);
    if (!(what & VT_FUNCTION_LEAVE)) {
        if (depth == DEPTH) return 0; /* the calls around are not counted */
        work->open[depth].entered = now;
        work->open[depth].what = what;
        return depth + 1;
    }
    while (depth && work->open[depth - 1].what != (what & ~VT_FUNCTION_LEAVE)) depth--;
    if (!depth) return 0;
    if (f) {
        f->calls++;
        f->ticks += now - work->open[depth - 1].entered;
    }
    return depth - 1;
}

/* Calls of malloc and its family are one entry: they go and return together. */
#define MEMORY VT_CODE_MASK

/* Adds a record to that entry, or the record after one of a call: its end. Returns 1 if it begins a call. */
static int memory_record(uint32_t what, uint64_t ticks, int is_end, int counts)
{
    const uint32_t kind = VT_KIND(what);
    const int begins = kind == VT_K_ENTER_ALLOC || kind == VT_K_ENTER_FREE || kind == VT_K_ENTER_REALLOC;
    struct called *f = counts && (begins || is_end) ? entry_of(MEMORY) : NULL;
    if (f) {
        f->words += 1 + VT_WORDS(what);
        f->calls += begins;
        f->ticks += is_end ? ticks : 0;
    }
    return begins;
}

/* Of a region's ENTER or LEAVE. */
static uint32_t as_function(uint32_t what)
{
    return VT_ID(what) | (VT_KIND(what) == VT_K_LEAVE ? VT_FUNCTION_LEAVE : 0);
}

/* Counts the calls in the words of a chunk from `from` on. */
static void count_calls(struct vt_chunk *c, uint32_t from)
{
    const uint64_t *w = vt_chunk_words(c);
    const uint32_t n = vt_chunk_used(c) / 8;
    uint64_t now = c->ticks;
    uint32_t depth = 0;
    int in_memory = 0;
    memset(work->called, 0, sizeof work->called);
    for (uint32_t i = 0; i < n;) {
        const uint32_t what = (uint32_t)w[i], python = what & VT_FUNCTION ? 0 : vt_python_entry(what);
        now += w[i] >> 32;
        if (what & VT_FUNCTION) depth = function_record(what, 0, now, depth, i >= from);
        else if (python) depth = function_record(as_function(what), python, now, depth, i >= from);
        else if (VT_KIND(what) == VT_K_TIME) now += w[i + 1];
        else in_memory = memory_record(what, w[i] >> 32, in_memory, i >= from);
        i += 1 + VT_WORDS(what);
    }
    struct called *memory = entry_of(MEMORY);
    if (memory && !vt_memory_may_go()) memory->calls = 0;
    for (uint32_t i = 0; i < nout; i++) { /* what is still recorded cannot be switched */
        struct called *f = entry_of(work->out[i]);
        if (f) f->calls = 0;
    }
}

/* Returns 1 for calls that are iterations, and for functions of Python that are left out already. */
static int stays(uint64_t key)
{
    const uint32_t python = (uint32_t)(key >> 32);
    if (!python) return vt_keep_is_iteration(VT_FUNCTION | (uint32_t)(key - 1));
    return vt_keep_is_iteration(VT_WHAT(VT_K_ENTER, 0, python)) || !vt_python_may_go(python);
}

/* Returns the function with the most and shortest calls; NULL: none has enough calls. */
static struct called *next_to_leave_out(void)
{
    struct called *best = NULL;
    double most = 0;
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        struct called *f = &work->called[i];
        const double score = (double)f->calls * f->calls / (double)(f->ticks + 1);
        if (f->calls < LEAST_CALLS || score <= most || stays(atomic_load(&f->key))) continue;
        best = f;
        most = score;
    }
    return best;
}

/* ---- Choices ---- */

static double part_allowed(void) { return (double)vt_process.set.overhead / VT_OVERHEAD_UNIT; }

static double most_credit(void) { return part_allowed() * SECOND; }

static void ask(const struct vt_location *l, uint32_t first, uint32_t last, int returns)
{
    request.first = first;
    request.last = last;
    request.out = work->out;
    request.returns = returns;
    request.location = l->number;
    atomic_store(&vt_overhead_asks, vt_process.pid);
}

static void release(void) { atomic_store(&choosing, 0); }

/* States once that recording takes more than its part, and that no function can be left out. */
static void tell_exceeded(struct vt_location *l)
{
    static uint32_t told; /* pid */
    char value[64];
    if (told == vt_process.pid || l->overhead.credit > -most_credit()) return;
    told = vt_process.pid;
    struct vt_text v = vt_text_into(value, sizeof value);
    vt_text_dec(&v, vt_process.pid);
    vt_text_add(&v, " ");
    vt_text_dec(&v, vt_now());
    vt_text_add(&v, " ");
    vt_text_dec(&v, request.part);
    vt_define_property(l, "overhead.exceeded", value);
}

/* Leaves out functions until the words that stay are fewer than `most`. part: of the thread's time that recording took. */
static void leave_out(struct vt_location *l, uint32_t words, double most, double part)
{
    uint32_t n = nout, python = 0;
    int memory_goes = 0;
    struct called *f;
    if (!vt_try_lock(&choosing)) return;
    if (!vt_pages_once((void **)&work, sizeof *work)) {
        release();
        return;
    }
    count_calls(l->chunk, l->overhead.from);
    request.part = (uint32_t)(100 * part + 0.5);
    while (words > most && n < FUNCTIONS && python < FUNCTIONS && (f = next_to_leave_out())) {
        const uint64_t key = atomic_load(&f->key);
        words -= f->words < words ? f->words : words;
        f->calls = 0;
        if (key >> 32) work->python[python++] = (uint32_t)(key >> 32);
        else if (key - 1 != MEMORY) work->out[n++] = (uint32_t)(key - 1);
        else {
            vt_memory_leave_out(l, request.part);
            memory_goes = 1;
        }
    }
    if (python) vt_python_leave_out(l, work->python, python, request.part);
    if (n > nout) {
        ask(l, nout, n, 0);
        return;
    }
    if (!memory_goes && !python) tell_exceeded(l);
    release();
}

static void let_return(struct vt_location *l)
{
    if (vt_try_lock(&choosing)) {
        const int returns = vt_memory_return(l) | vt_python_return(l);
        release();
        if (returns) return;
    }
    if (!VT_READ(nsteps) || vt_clock_ns(CLOCK_MONOTONIC_RAW) < VT_READ(not_before) || !vt_try_lock(&choosing)) return;
    const struct vt_location *of = nsteps ? atomic_load(&vt_locations[steps[nsteps - 1].location]) : NULL;
    if (nsteps && (of == l || !of || atomic_load(&of->ended))) ask(l, steps[nsteps - 1].first, nout, 1);
    else release();
}

int vt_overhead_take(struct vt_left_out *taken)
{
    uint32_t me = vt_process.pid;
    if (!atomic_compare_exchange_strong(&vt_overhead_asks, &me, 0)) return 0;
    *taken = request;
    taken->begun = vt_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return 1;
}

void vt_overhead_done(struct vt_location *l, const struct vt_left_out *taken)
{
    const uint64_t now = vt_clock_ns(CLOCK_MONOTONIC_RAW);
    if (taken->returns) {
        nout = taken->first;
        VT_SET(nsteps, nsteps - 1);
    } else {
        nout = taken->last;
        if (has_returned && pause_ns < LONGEST_PAUSE) pause_ns *= 2;
        if (nsteps < MOST_STEPS) {
            steps[nsteps].first = taken->first;
            steps[nsteps].location = taken->location;
            VT_SET(nsteps, nsteps + 1);
        }
    }
    has_returned = taken->returns;
    VT_SET(not_before, now + pause_ns);
    release();
    const uint64_t spent = vt_clock_ns(CLOCK_THREAD_CPUTIME_ID) - taken->begun;
    l->overhead.credit -= (double)spent;
    l->overhead.cpu += spent;
}

/* ---- The credit ---- */

static uint32_t words_now(const struct vt_location *l) { return l->chunk ? vt_chunk_used(l->chunk) / 8 : 0; }

/* The thread's first look. */
static void begin(struct vt_location *l, uint64_t cpu)
{
    l->overhead = (struct vt_overhead){.thread = l->thread,
                                       .cpu = cpu,
                                       .from = words_now(l),
                                       .sampled = VT_READ(l->samples.spent),
                                       .credit = most_credit()};
}

/* The ns in which the handler took samples since the last look. */
static double sampled_ns(struct vt_location *l)
{
    const struct vt_clock_pair *p = &vt_process.head.pair;
    const uint64_t spent = VT_READ(l->samples.spent), ticks = spent - l->overhead.sampled;
    const uint64_t now = ticks ? vt_now() : 0;
    l->overhead.sampled = spent;
    return now > p->ticks
               ? (double)ticks * (double)(vt_clock_ns(CLOCK_MONOTONIC_RAW) - p->mono) / (double)(now - p->ticks)
               : 0;
}

void vt_overhead_look(struct vt_location *l)
{
    struct vt_overhead *o = &l->overhead;
    const uint64_t cpu = vt_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (o->thread != l->thread) begin(l, cpu);
    const uint32_t now = words_now(l);
    if (now < o->from) o->from = 0; /* another chunk, since the thread's records were written before it was full */
    const uint32_t words = now - o->from + o->python * python_words();
    o->python = 0;
    const double own = words * word_ns + sampled_ns(l), all = (double)(cpu - o->cpu),
                 program = all > own ? all - own : 0;
    const double most = most_credit(), may = part_allowed() * program;
    o->credit += may - own;
    if (o->credit > most) o->credit = most;
    o->words += words;
    o->spent += own;
    o->cpu = cpu;
    if (words && o->credit < most / 2 && own > may)
        leave_out(l, words, may / 2 / (o->spent / (double)o->words), own / (own + program));
    else if (o->credit > most * 7 / 8) let_return(l);
}

void vt_overhead_worked(struct vt_location *l)
{
    struct vt_overhead *o = &l->overhead;
    const uint64_t cpu = vt_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const double spent = (double)(cpu - o->cpu);
    o->credit -= spent;
    o->spent += spent;
    o->cpu = cpu;
    o->from = words_now(l);
}
