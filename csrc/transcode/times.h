/* SPDX-License-Identifier: BSD-3-Clause */
/* Ticks to nanoseconds along knots, piecewise linear, rounded down, exact: the same for every machine and order. */
#ifndef VT_TIMES_H
#define VT_TIMES_H

#include "transcode.h"

#define VT_NS_MAX (UINT64_MAX >> 1)

struct vt_times {
    const uint64_t *ticks, *ns; /* the knots */
    uint64_t n;
    /* The segment in use: from begin on, as far as reach, ns = base + (ticks - begin) * rise / run. */
    uint64_t begin, reach, base, rise, run;
    uint64_t factor; /* rise / run * 2^shift, rounded down */
    unsigned shift;
};

/* Returns 0 when the knots are not as vt_maps has them. */
int vt_times_begin(struct vt_times *c, const struct vt_maps *maps);
/* Any ticks; chooses the segment for the next ones. Before the archive's zero: 0 and *early set. */
uint64_t vt_times_seek(struct vt_times *c, uint64_t ticks, int *early);

static inline uint64_t vt_times_ns(struct vt_times *c, uint64_t ticks, int *early)
{
    uint64_t d = ticks - c->begin;
    if (__builtin_expect(d >= c->reach, 0)) return vt_times_seek(c, ticks, early);
    /* The factor is less than 1 / 2^shift too small and d below 2^shift: the quotient is right or 1 too small. */
    uint64_t q = (uint64_t)((unsigned __int128)d * c->factor >> c->shift);
    uint64_t rest = d * c->rise - q * c->run;
    return c->base + q + (rest >= c->run);
}

#endif
