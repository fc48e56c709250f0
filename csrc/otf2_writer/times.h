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
    const uint64_t *shift_ns, *shifts; /* by which times are put forward, as vt_maps has them */
    uint64_t nshifts, put_begin, put_reach, put; /* those in use: from put_begin on, for put_reach ns */
};

/* A clock that was put forward comes back by 1 ns in 1024: faster than clocks drift apart, and hardly to be seen. */
#define VT_COMES_BACK 10

/* What ns becomes where the clock was put forward by put at begin: never less than what an earlier ns becomes. */
static inline uint64_t vt_times_put(uint64_t ns, uint64_t begin, uint64_t put)
{
    uint64_t gone = (ns - begin) >> VT_COMES_BACK;
    return gone < put ? ns + put - gone : ns;
}

uint64_t vt_times_shift(struct vt_times *c, uint64_t ns);

/* Returns 0 when the knots are not as vt_maps has them. */
int vt_times_begin(struct vt_times *c, const struct vt_maps *maps);
/* Any ticks; chooses the segment for the next ones. Before the archive's zero: the time of its zero and *early set. */
uint64_t vt_times_seek(struct vt_times *c, uint64_t ticks, int *early);

static inline uint64_t vt_times_ns(struct vt_times *c, uint64_t ticks, int *early)
{
    uint64_t d = ticks - c->begin;
    if (__builtin_expect(d >= c->reach, 0)) return vt_times_seek(c, ticks, early);
    /* The factor is less than 1 / 2^shift too small and d below 2^shift: the quotient is right or 1 too small. */
    uint64_t q = (uint64_t)((unsigned __int128)d * c->factor >> c->shift);
    uint64_t rest = d * c->rise - q * c->run;
    uint64_t ns = c->base + q + (rest >= c->run);
    return __builtin_expect(c->nshifts != 0, 0) ? vt_times_shift(c, ns) : ns;
}

#endif
