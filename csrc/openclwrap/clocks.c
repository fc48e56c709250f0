/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock of a device, in relation to the runtime's. clGetDeviceAndHostTimer, where the driver has it, tells the device's
   time, read between two readings of CLOCK_MONOTONIC. A command is queued, by the device's clock, between the enter and
   the leave of the call that enqueues it, and has ended when its times are read. Each such pair bounds CLOCK_MONOTONIC
   less the device's time; all pairs together leave a narrow interval, which widens with the time since. Its middle is
   used. */
#include <time.h>
#include "openclwrap.h"

#define DRIFT 10000u /* clocks drift apart by at most one part of so many: 100 ppm */
#define ASK_NS 100000000u /* time between two questions for a device's time */

#define READINGS 8u /* the most readings for a pair without an interruption */
#define SHORT 400u /* ticks of such a reading */

struct pair {
    uint64_t ticks, mono;
};

static struct pair first;

uint64_t vt_cl_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Both clocks at one moment: the reading of several that took the least time, since a thread may lose its processor. */
static struct pair both(void)
{
    struct pair best = {0, 0};
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < READINGS && least > SHORT; i++) {
        const uint64_t before = vt_ticks(), mono = vt_cl_now(), took = vt_ticks() - before;
        if (took < least) best = (struct pair){before + took / 2, mono};
        if (took < least) least = took;
    }
    return best;
}

void vt_cl_clock_start(void) { first = both(); }

void vt_cl_clock_bounds(struct vt_cl_device *d, int64_t low, int64_t high, uint64_t now, int is_certain)
{
    vt_cl_lock(&d->lock);
    const int64_t drift = now > d->at ? (int64_t)((now - d->at) / DRIFT) : 0;
    const int64_t lowest = d->low - drift, highest = d->high + drift;
    const int fits = d->is_known && low <= highest && high >= lowest; /* else the device's clock was set */
    if (fits || is_certain || !d->is_known) {
        d->low = fits && lowest > low ? lowest : low;
        d->high = fits && highest < high ? highest : high;
        d->at = now;
        d->is_known = 1;
    }
    vt_cl_unlock(&d->lock);
}

void vt_cl_clock_ask(struct vt_cl_device *d)
{
    cl_timer_function *timer = VT_NEXT_AS(cl_timer_function, clGetDeviceAndHostTimer);
    cl_ulong device = 0, host = 0;
    uint64_t asked = atomic_load(&d->asked);
    const uint64_t before = vt_cl_now();
    if (!atomic_load(&d->has_timer) || before - asked < ASK_NS) return;
    if (!atomic_compare_exchange_strong(&d->asked, &asked, before)) return; /* another thread asks */
    const int knows = timer && VT_OWN_WORK(timer(d->handle, &device, &host)) == CL_SUCCESS && device;
    const uint64_t after = vt_cl_now();
    if (knows) vt_cl_clock_bounds(d, (int64_t)(before - device), (int64_t)(after - device), after, 1);
    else atomic_store(&d->has_timer, 0);
}

uint64_t vt_cl_clock_ticks(struct vt_cl_device *d, uint64_t device)
{
    vt_cl_lock(&d->lock);
    const int64_t offset = d->low + (d->high - d->low) / 2;
    vt_cl_unlock(&d->lock);
    const struct pair now = both();
    const uint64_t at = device + (uint64_t)offset;
    if (at >= now.mono || now.mono <= first.mono) return now.ticks; /* not later than now */
    const double rate = (double)(now.ticks - first.ticks) / (double)(now.mono - first.mono);
    return now.ticks - (uint64_t)((double)(now.mono - at) * rate);
}
