/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock of a device, in relation to the runtime's. Each time of the device between two readings of CLOCK_MONOTONIC
   bounds CLOCK_MONOTONIC less the device's time; all pairs together leave a narrow interval, which widens with the time
   since. Its middle is used. */
#include <time.h>
#include "devices.h"

#define DRIFT 10000u /* clocks drift apart by at most one part of so many: 100 ppm */
#define READINGS 8u /* the most readings for a pair without an interruption */
#define SHORT 400u /* ticks of such a reading */

struct pair {
    uint64_t ticks, mono;
};

static struct pair first;

uint64_t vt_device_now(void)
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
        const uint64_t before = vt_ticks(), mono = vt_device_now(), took = vt_ticks() - before;
        if (took < least) best = (struct pair){before + took / 2, mono};
        if (took < least) least = took;
    }
    return best;
}

void vt_device_clock_start(void) { first = both(); }

void vt_device_clock_bounds(struct vt_device_clock *clock, int64_t low, int64_t high, uint64_t now, int is_certain)
{
    vt_device_lock(&clock->lock);
    const int64_t drift = now > clock->at ? (int64_t)((now - clock->at) / DRIFT) : 0;
    const int64_t lowest = clock->low - drift, highest = clock->high + drift;
    const int fits = clock->is_known && low <= highest && high >= lowest; /* else the device's clock was set */
    if (fits || is_certain || !clock->is_known) {
        clock->low = fits && lowest > low ? lowest : low;
        clock->high = fits && highest < high ? highest : high;
        clock->at = now;
        clock->is_known = 1;
    }
    vt_device_unlock(&clock->lock);
}

int64_t vt_device_clock_offset(struct vt_device_clock *clock)
{
    vt_device_lock(&clock->lock);
    const int64_t offset = clock->low + (clock->high - clock->low) / 2;
    vt_device_unlock(&clock->lock);
    return offset;
}

uint64_t vt_device_clock_ticks(struct vt_device_clock *clock, uint64_t device)
{
    const struct pair now = both();
    const uint64_t at = device + (uint64_t)vt_device_clock_offset(clock);
    if (at >= now.mono || now.mono <= first.mono) return now.ticks; /* not later than now */
    const double rate = (double)(now.ticks - first.ticks) / (double)(now.mono - first.mono);
    return now.ticks - (uint64_t)((double)(now.mono - at) * rate);
}
