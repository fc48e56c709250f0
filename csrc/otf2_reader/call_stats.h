/* SPDX-License-Identifier: BSD-3-Clause */
/* The sums over calls of a region or call path. Part of stack_replay.c. */
#ifndef VT_CALL_STATS_H
#define VT_CALL_STATS_H

#include "stack_replay.h"

__extension__ typedef unsigned __int128 wide;

/* Limits a sum: the times of a damaged archive may go back, so that the calls of one stack last longer than the trace. */
static inline int64_t sum_of(int64_t a, int64_t b)
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum) && sum > INT64_MIN) return sum; /* -INT64_MIN would overflow */
    return a < 0 ? -INT64_MAX : INT64_MAX;
}

/* Adds n calls of the same region in a row, which are known by their sums. */
static __attribute__((noinline, cold)) void count_many(struct vt_stats *s, int64_t time, int64_t own, int outermost,
                                                       uint64_t n)
{
    const int64_t mean = time / (int64_t)n;
    if (!s->calls || mean < s->min) s->min = mean;
    if (mean > s->max) s->max = mean;
    s->calls += n;
    s->joined += n - 1;
    s->total = sum_of(s->total, time);
    s->exclusive = sum_of(s->exclusive, own);
    if (outermost) s->inclusive = sum_of(s->inclusive, time);
    /* time % n calls take mean + 1, the others mean: sum n * mean^2 + rest * (2 * mean + 1) */
    wide squares = ((wide)s->squares[1] << 64 | s->squares[0]) + (wide)mean * (wide)mean * n;
    squares += (wide)(time % (int64_t)n) * (wide)(2 * mean + 1);
    s->squares[0] = (uint64_t)squares;
    s->squares[1] = (uint64_t)(squares >> 64);
}

static inline void count(struct vt_stats *s, int64_t time, int64_t own, int outermost)
{
    if (!s->calls++ || time < s->min) s->min = time;
    if (time > s->max) s->max = time;
    s->total = sum_of(s->total, time);
    s->exclusive = sum_of(s->exclusive, own);
    if (outermost) s->inclusive = sum_of(s->inclusive, time);
    wide squares = ((wide)s->squares[1] << 64 | s->squares[0]) + (wide)time * (wide)time;
    s->squares[0] = (uint64_t)squares;
    s->squares[1] = (uint64_t)(squares >> 64);
}

/* Subtracts integers: with doubles the difference would vanish for calls of about equal length. */
static inline void spread(struct vt_stats *s)
{
    wide squares = (wide)s->squares[1] << 64 | s->squares[0], sum = (wide)s->total * (wide)s->total;
    s->deviations = (double)(squares - sum / s->calls) - (double)(sum % s->calls) / (double)s->calls;
}

static inline void count_calls(uint64_t n, struct vt_stats *s, int64_t time, int64_t own, int outermost)
{
    if (__builtin_expect(n > 1, 0)) count_many(s, time, own, outermost, n);
    else count(s, time, own, outermost);
}

#endif
