/* SPDX-License-Identifier: BSD-3-Clause */
/* VT_START_AFTER and VT_STOP_AFTER: recording is on between two moments only, each so many seconds after the program's start or
   a call of a region. There is no timer: the slow path of an event looks at the clock. So the end comes late, up to a chunk
   of each thread, and what was recorded behind it is taken back; the begin comes at the first event behind it. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include "clock.h"
#include "location.h"
#include "recording_window.h"
#include "setting_texts.h"
#include "switch.h"

#define SECOND UINT64_C(1000000000)

struct moment {
    uint64_t ns; /* since the program's start */
    const char *region; /* instead; NULL: none */
    int64_t calls;
    uint32_t id; /* of a named region; 0: not defined yet */
    _Atomic int64_t left; /* calls to come */
    _Atomic int pending; /* it is set, and has not come yet */
};

static struct moment start = {.ns = UINT64_MAX}, stop = {.ns = UINT64_MAX};
static struct vt_clock_pair began;
static _Atomic uint64_t look = UINT64_MAX; /* ticks: when the clock is looked at next */
static uint64_t cut_at = UINT64_MAX; /* ticks: what was recorded later is taken back, UINT64_MAX: nothing */

/* The call of stop.region that is the last one: who is in it, and how often. */
static struct vt_location *_Atomic last_in;
static uint32_t last_depth;
uint32_t vt_window_enters[2], vt_window_leave; /* the heads of records that concern these regions, 0: none */
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
    vt_window_watches = 1;
}

/* Before the program's own code where functions are watched; settings have been read. */
void vt_window_prepare(void)
{
    static char names[2][sizeof vt_process.set.start_after];
    static int prepared;
    if (prepared++) return;
    prepare(&start, vt_process.set.start_after, names[0]);
    prepare(&stop, vt_process.set.stop_after, names[1]);
}

/* When the runtime starts: the program began at mono, by CLOCK_MONOTONIC_RAW. */
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

int vt_window_is_due(uint64_t now) { return now >= atomic_load_explicit(&look, memory_order_relaxed); }

/* l: of the calling thread, which is not recording; NULL: it has none. */
static void turn(struct vt_location *l, struct moment *m, int on, uint64_t when)
{
    int pending = 1;
    if (!atomic_compare_exchange_strong(&m->pending, &pending, 0)) return;
    if (!on && !m->region) VT_SET(cut_at, when);
    vt_switch_at(l, on, when);
}

/* Ticks until a moment, from a look at both clocks; negative: since. Ticks a ns are those since the runtime's start. */
static double ticks_until(uint64_t ns, const struct vt_clock_pair *p)
{
    double rate = p->mono > began.mono ? (double)(p->ticks - began.ticks) / (double)(p->mono - began.mono) : 1;
    return ((double)ns - (double)p->mono) * rate;
}

/* At an event's slow path, not under busy, or where the calling thread has no location (NULL). */
void vt_window_look(struct vt_location *l)
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
    /* The speed of the clock is known only roughly so far: look again before the end. */
    atomic_store(&look, p.ticks + (uint64_t)(p.mono - began.mono < SECOND / 10 ? next / 2 : next * 0.99) + 1);
}

/* ---- Calls of a region ---- */

static int is_name(const struct moment *m, const char *name) { return m->region && name && !strcmp(m->region, name); }

/* Which of the two a function concerns: bits VT_WATCHED_START and VT_WATCHED_STOP. */
uint8_t vt_window_bits(const char *const *names, unsigned n)
{
    uint8_t bits = 0;
    for (unsigned i = 0; i < n && names[i]; i++) {
        if (is_name(&start, names[i])) bits |= VT_WATCHED_START;
        if (is_name(&stop, names[i])) bits |= VT_WATCHED_STOP;
    }
    return bits;
}

/* Named regions: their records are looked at from here on. */
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

/* Of a function with such bits, before the event is recorded. l: vt_location_to_record(0), here and below. */
void vt_window_function(struct vt_location *l, uint8_t bits, int leaves)
{
    if (!leaves) enter(l, bits & VT_WATCHED_START, bits & VT_WATCHED_STOP);
    else if (bits & VT_WATCHED_STOP) leave(l);
}

/* Before a record with one of vt_window_enters, and behind any while vt_window_leave is set. */
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

/* Threads that ended before they noticed. */
static void follow_ended(void)
{
    for (uint32_t i = 1; i < atomic_load(&vt_process.locations) && i < VT_MAX_LOCATIONS; i++) {
        struct vt_location *l = atomic_load(&vt_locations[i]);
        uint32_t ended = 1;
        if (!l || !atomic_compare_exchange_strong(&l->ended, &ended, 0)) continue; /* nobody takes it over meanwhile */
        if (!VT_READ(l->stopped)) vt_switch_follow(l, vt_now());
        atomic_store(&l->ended, 1);
    }
}

/* Brings everything to its last state, and tells a user why there is nothing. */
void vt_window_end(struct vt_location *l)
{
    if (start.ns != UINT64_MAX || stop.ns != UINT64_MAX) vt_window_look(l);
    if (VT_READ(cut_at) != UINT64_MAX) follow_ended();
    if (!atomic_load(&start.pending)) return;
    if (!start.region)
        vt_warn("VT_START_AFTER=%s: the program ended before: nothing is recorded", vt_process.set.start_after);
    else
        vt_warn("VT_START_AFTER=%s: there were %llu calls of it: nothing is recorded", vt_process.set.start_after,
                (unsigned long long)(start.calls - atomic_load(&start.left)));
}
