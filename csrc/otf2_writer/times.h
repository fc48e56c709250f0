/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts ticks to nanoseconds along knots: piecewise linear, rounded down, exact, the same on every machine. */
#ifndef VT_TIMES_H
#define VT_TIMES_H

#include "transcode.h"

#define VT_NS_MAX (UINT64_MAX >> 1)

struct vt_times {
    const uint64_t *ticks, *ns; /* the knots */
    uint64_t n;
    /* The current segment: from `begin` on, for `reach` ticks, ns = base + (ticks - begin) * rise / run. */
    uint64_t begin, reach, base, rise, run;
    uint64_t factor; /* rise / run * 2^shift, rounded down */
    unsigned shift;
    const uint64_t *shift_ns, *shifts; /* shifts by which times are put forward, as in vt_maps */
    uint64_t nshifts, put_begin, put_reach, put; /* the current shift: from put_begin on, for put_reach ns */
};

/* A clock that was put forward returns by 1 ns in 1024: this is faster than clocks drift apart, and hardly visible. */
#define VT_COMES_BACK 10

/* Returns the corrected time of ns, after the clock was put forward by `put` at `begin`. A later ns never gets an
   earlier time. */
static inline uint64_t vt_times_put(uint64_t ns, uint64_t begin, uint64_t put)
{
    uint64_t gone = (ns - begin) >> VT_COMES_BACK;
    return gone < put ? ns + put - gone : ns;
}

uint64_t vt_times_shift(struct vt_times *c, uint64_t ns);

/* Returns 0 if the knots are not as vt_maps requires. */
int vt_times_begin(struct vt_times *c, const struct vt_maps *maps);
/* Converts any ticks, and chooses the segment for the next ones. For ticks before the archive's zero returns the time
   of the zero and sets *early. */
uint64_t vt_times_seek(struct vt_times *c, uint64_t ticks, int *early);

static inline uint64_t vt_times_ns(struct vt_times *c, uint64_t ticks, int *early)
{
    uint64_t d = ticks - c->begin;
    if (__builtin_expect(d >= c->reach, 0)) return vt_times_seek(c, ticks, early);
    /* The factor is too small by less than 1 / 2^shift, and d < 2^shift: the quotient is right or 1 too small. */
    uint64_t q = (uint64_t)((unsigned __int128)d * c->factor >> c->shift);
    uint64_t rest = d * c->rise - q * c->run;
    uint64_t ns = c->base + q + (rest >= c->run);
    return __builtin_expect(c->nshifts != 0, 0) ? vt_times_shift(c, ns) : ns;
}

#endif
