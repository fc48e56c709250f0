/* SPDX-License-Identifier: BSD-3-Clause */
#include "times.h"

int vt_times_begin(struct vt_times *c, const struct vt_maps *maps)
{
    *c = (struct vt_times){.ticks = maps->knot_ticks, .ns = maps->knot_ns, .n = maps->nknots};
    c->shift_ns = maps->shift_ns;
    c->shifts = maps->shifts;
    c->nshifts = maps->nshifts;
    if (c->n < 2) return 0;
    for (uint64_t i = 1; i < c->n; i++) {
        if (c->ticks[i] <= c->ticks[i - 1] || c->ns[i] < c->ns[i - 1]) return 0;
        if (c->ticks[i] - c->ticks[i - 1] > INT64_MAX || c->ns[i] > VT_NS_MAX) return 0;
    }
    return 1;
}

/* Finds the last segment that begins at or before ticks; for earlier ticks the first one. */
static uint64_t segment(const struct vt_times *c, uint64_t ticks)
{
    uint64_t low = 0, high = c->n - 1;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (c->ticks[middle] <= ticks) low = middle;
        else high = middle;
    }
    return low;
}

uint64_t vt_times_seek(struct vt_times *c, uint64_t ticks, int *early)
{
    uint64_t i = segment(c, ticks);
    c->begin = c->ticks[i];
    c->base = c->ns[i];
    c->run = c->ticks[i + 1] - c->begin;
    c->rise = c->ns[i + 1] - c->base;
    unsigned __int128 factor = ((unsigned __int128)c->rise << 63) / c->run;
    for (c->shift = 63; factor > UINT64_MAX; c->shift--) factor >>= 1;
    c->factor = (uint64_t)factor;
    /* Half of the range that rounding allows: then d * factor >> shift stays below 2^63, too. */
    c->reach = c->shift ? (uint64_t)1 << (c->shift - 1) : 0;
    if (i + 2 < c->n && c->reach > c->run) c->reach = c->run;
    unsigned __int128 last = c->rise ? (unsigned __int128)(VT_NS_MAX - c->base) * c->run / c->rise : UINT64_MAX;
    if (c->reach > last) c->reach = (uint64_t)last;

    __int128 product = ((__int128)ticks - c->begin) * c->rise;
    __int128 ns = product / c->run + c->base - (product < 0 && product % c->run != 0);
    if (ns < 0) {
        *early = 1;
        ns = 0; /* put forward as any other time, as the repair expects */
    }
    if (ns > (__int128)VT_NS_MAX) return VT_NS_MAX;
    return c->nshifts ? vt_times_shift(c, (uint64_t)ns) : (uint64_t)ns;
}

uint64_t vt_times_shift(struct vt_times *c, uint64_t ns)
{
    if (ns - c->put_begin >= c->put_reach) {
        uint64_t low = 0, high = c->nshifts; /* shifts before low begin at or before ns */
        while (low < high) {
            uint64_t middle = low + (high - low) / 2;
            if (c->shift_ns[middle] <= ns) low = middle + 1;
            else high = middle;
        }
        c->put_begin = low ? c->shift_ns[low - 1] : 0;
        c->put = low ? c->shifts[low - 1] : 0;
        c->put_reach = (low < c->nshifts ? c->shift_ns[low] : UINT64_MAX) - c->put_begin;
    }
    return vt_times_put(ns, c->put_begin, c->put);
}

VT_EXPORT int vt_kernel_times(const struct vt_maps *maps, uint64_t *times, uint32_t count)
{
    struct vt_times c;
    if (!vt_times_begin(&c, maps)) return VT_BAD_ARGUMENT;
    for (uint32_t i = 0; i < count; i++) {
        int early = 0;
        times[i] = vt_times_ns(&c, times[i], &early);
    }
    return VT_OK;
}
