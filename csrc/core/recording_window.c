/* SPDX-License-Identifier: BSD-3-Clause */
/* VT_START_AFTER and VT_STOP_AFTER: recording is on only between two moments. A moment is a time in seconds after the
   program's start, or a call of a region. vtrace has no timer: the slow path of an event compares the clock. Recording
   therefore starts at the first event after the start moment. A thread may detect the stop moment up to a chunk too
   late; vtrace then discards the later records. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include "recording.h"

#define SECOND UINT64_C(1000000000)

struct moment {
    uint64_t ns; /* since the program's start; UINT64_MAX: not a time */
    const char *region; /* name of the region whose calls count; NULL: not a region */
    int64_t calls;
    uint32_t id; /* id of the named region; 0: not defined yet */
    _Atomic int64_t left; /* calls that must still begin */
    _Atomic int pending; /* the moment is set and has not come yet */
};

static struct moment start = {.ns = UINT64_MAX}, stop = {.ns = UINT64_MAX};
static struct vt_clock_pair began;
static _Atomic uint64_t look = UINT64_MAX; /* ticks: time of the next comparison with the clock */
static uint64_t cut_at = UINT64_MAX; /* ticks: records after this time are discarded; UINT64_MAX: none */

/* The last call of stop.region: the location that is inside this call, and the depth of recursive calls. */
static struct vt_location *_Atomic last_in;
static uint32_t last_depth;
/* first words of the records that enter or leave these regions; 0: none */
uint32_t vt_window_enters[2], vt_window_leave;
int vt_window_watches;

static void prepare(struct moment *m, const char *text, char *name)
{
    uint64_t value = 0;
    long n = *text ? vt_setting_moment(text, &value) : -1;
    m->ns = UINT64_MAX;
    atomic_store(&m->pending, n >= 0);
    if (n < 0) return;
    if (!n) {
        m->ns = value;
        return;
    }
    memcpy(name, text, (size_t)n);
    m->region = name;
    m->calls = (int64_t)value;
    atomic_store(&m->left, (int64_t)value);
    vt_window_watches = vt_sees_records = 1;
}

/* Reads the moments from the settings. Call this function after vt_settings_read, and before the program's own code
   runs if functions are counted. */
void vt_window_prepare(void)
{
    static char names[2][sizeof vt_process.set.start_after];
    static int prepared;
    if (prepared++) return;
    prepare(&start, vt_process.set.start_after, names[0]);
    prepare(&stop, vt_process.set.stop_after, names[1]);
}

/* Runs when the runtime starts. mono: start of the program, by CLOCK_MONOTONIC_RAW (ns). */
void vt_window_start(uint64_t mono)
{
    began = vt_process.head.pair;
    if (start.ns != UINT64_MAX) start.ns += mono;
    if (stop.ns != UINT64_MAX) stop.ns += mono;
    if (atomic_load(&start.pending)) {
        atomic_store(&vt_process.switched, began.ticks);
        atomic_store(&vt_process.off, 1);
    }
    if (start.ns != UINT64_MAX || stop.ns != UINT64_MAX) atomic_store(&look, 0);
}

VT_GENERAL_REGISTERS int vt_window_is_due(uint64_t now)
{
    return now >= atomic_load_explicit(&look, memory_order_relaxed);
}

/* Switches recording at a moment that has come. l: location of the calling thread, with l->busy clear; NULL: none. */
static void turn(struct vt_location *l, struct moment *m, int on, uint64_t when)
{
    int pending = 1;
    if (!atomic_compare_exchange_strong(&m->pending, &pending, 0)) return;
    if (!on && !m->region) VT_SET(cut_at, when);
    vt_switch_at(l, on, when);
}

/* Returns the ticks until a moment; negative if the moment has passed. p: a reading of both clocks. The rate in ticks
   per ns is the mean since the runtime's start. */
static double ticks_until(uint64_t ns, const struct vt_clock_pair *p)
{
    double rate = p->mono > began.mono ? (double)(p->ticks - began.ticks) / (double)(p->mono - began.mono) : 1;
    return ((double)ns - (double)p->mono) * rate;
}

/* Runs in the slow path of an event, with l->busy clear. l: NULL if the calling thread has no location. */
void vt_window_apply(struct vt_location *l)
{
    struct vt_clock_pair p = vt_clock_measure();
    struct moment *both[] = {&start, &stop};
    double next = -1;
    atomic_store(&look, UINT64_MAX);
    for (int i = 0; i < 2; i++) {
        if (both[i]->ns == UINT64_MAX || !atomic_load(&both[i]->pending)) continue;
        double ticks = ticks_until(both[i]->ns, &p);
        if (ticks <= 0) turn(l, both[i], i == 0, p.ticks - (uint64_t)-ticks);
        else if (next < 0 || ticks < next) next = ticks;
    }
    if (next < 0) return;
    /* Early in the run the rate of the clock is known only roughly, so the next comparison comes before the moment. */
    atomic_store(&look, p.ticks + (uint64_t)(p.mono - began.mono < SECOND / 10 ? next / 2 : next * 0.99) + 1);
}

/* ---- Calls of a region ---- */

static int is_name(const struct moment *m, const char *name) { return m->region && name && !strcmp(m->region, name); }

/* Returns which moments count calls of a function: bits VT_WATCHED_START and VT_WATCHED_STOP. */
uint8_t vt_window_bits(const char *const *names, unsigned n)
{
    uint8_t bits = 0;
    for (unsigned i = 0; i < n && names[i]; i++) {
        if (is_name(&start, names[i])) bits |= VT_WATCHED_START;
        if (is_name(&stop, names[i])) bits |= VT_WATCHED_STOP;
    }
    return bits;
}

/* Notes the id of a new region if a moment has its name. From now on vt_write checks the records of this region. */
void vt_window_defined(const char *name, uint32_t id)
{
    struct moment *both[] = {&start, &stop};
    for (int i = 0; i < 2; i++)
        if (is_name(both[i], name) && !both[i]->id) {
            both[i]->id = id;
            VT_SET(vt_window_enters[i], VT_WHAT(VT_K_ENTER, 0, id));
        }
}

static int counts(struct moment *m)
{
    return atomic_load(&m->pending) && atomic_load(&m->left) > 0 && atomic_fetch_sub(&m->left, 1) == 1;
}

static void enter(struct vt_location *l, int is_start, int is_stop)
{
    if (!l || VT_READ(l->vforked)) return;
    if (is_start && counts(&start)) turn(l, &start, 1, vt_now());
    if (is_stop && atomic_load(&last_in) == l) last_depth++;
    else if (is_stop && counts(&stop)) {
        last_depth = 1;
        atomic_store(&last_in, l);
        VT_SET(vt_window_leave, VT_WHAT(VT_K_LEAVE, 0, stop.id));
    }
}

static void leave(struct vt_location *l)
{
    if (!l || atomic_load(&last_in) != l || --last_depth) return;
    atomic_store(&last_in, NULL);
    VT_SET(vt_window_leave, 0);
    turn(l, &stop, 0, vt_now());
}

/* Counts the call of a function with such bits, before its event is recorded. Here and below l is the result of
   vt_location_to_record(0). */
void vt_window_function(struct vt_location *l, uint8_t bits, int leaves)
{
    if (!leaves) enter(l, bits & VT_WATCHED_START, bits & VT_WATCHED_STOP);
    else if (bits & VT_WATCHED_STOP) leave(l);
}

/* vt_write calls vt_window_enter before a record with one of vt_window_enters, and vt_window_wrote after each record
   while vt_window_leave is set. */
void vt_window_enter(struct vt_location *l, uint32_t what)
{
    enter(l, what == vt_window_enters[0], what == vt_window_enters[1]);
}

void vt_window_wrote(struct vt_location *l, const uint64_t *words, unsigned n)
{
    for (unsigned i = 0; i < n; i += 1 + VT_WORDS((uint32_t)words[i]))
        if ((uint32_t)words[i] == VT_READ(vt_window_leave)) leave(l);
}

/* ---- The end ---- */

uint64_t vt_window_cut(void) { return VT_READ(cut_at); }

/* Switches recording off in the locations of threads that ended before they detected the stop moment. */
static void follow_ended(void)
{
    for (uint32_t i = 1; i < atomic_load(&vt_process.locations) && i < VT_MAX_LOCATIONS; i++) {
        struct vt_location *l = atomic_load(&vt_locations[i]);
        uint32_t ended = 1;
        /* no thread takes the location over while `ended` is 0 */
        if (!l || !atomic_compare_exchange_strong(&l->ended, &ended, 0)) continue;
        if (!VT_READ(l->stopped)) vt_switch_follow(l, vt_now());
        atomic_store(&l->ended, 1);
    }
}

/* Brings all locations to the last state. Prints a message if recording never started. */
void vt_window_end(struct vt_location *l)
{
    if (start.ns != UINT64_MAX || stop.ns != UINT64_MAX) vt_window_apply(l);
    if (VT_READ(cut_at) != UINT64_MAX) follow_ended();
    if (!atomic_load(&start.pending)) return;
    if (!start.region)
        vt_warn("VT_START_AFTER=%s: the program ended earlier: nothing is recorded", vt_process.set.start_after);
    else
        vt_warn("VT_START_AFTER=%s: the region has %llu calls: nothing is recorded", vt_process.set.start_after,
                (unsigned long long)(start.calls - atomic_load(&start.left)));
}
