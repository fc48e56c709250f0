/* SPDX-License-Identifier: BSD-3-Clause */
/* A performance event that signals its thread after a number of occurrences (VT_SAMPLE_CLOCK=perf). The kernel stops the
   event at each signal, and the handler starts it again at its end: at most one signal of a thread waits. */
#ifndef VT_PERF_TIMER_H
#define VT_PERF_TIMER_H

#include "sample_timers.h"

#pragma GCC visibility push(hidden)

/* Makes and starts the event of the calling thread. first: number of occurrences up to its first signal. Returns 0 or
   -errno. */
long vt_perf_timer_start(struct vt_sample_timer *t, const struct vt_sample_rate *rate, uint64_t first);
/* Returns the time in ns, or the number of occurrences, for which the current sample stands. */
uint64_t vt_perf_timer_weight(struct vt_sample_timer *t, const struct vt_sample_rate *rate);
/* Starts the event again, up to its next signal. distance: occurrences until then, if the event counts time. */
void vt_perf_timer_renew(struct vt_sample_timer *t, const struct vt_sample_rate *rate, uint64_t distance);
/* Returns 1 if the event of the calling thread stopped with a signal that the thread did not get: the kernel sent SIGIO
   instead. */
int vt_perf_timer_has_lost(const struct vt_sample_timer *t, const struct vt_sample_rate *rate);
/* Stops the event. Returns 0 if the program has closed its descriptor. */
int vt_perf_timer_stop(const struct vt_sample_timer *t);
/* Closes an event of the parent in a forked child. */
void vt_perf_timer_leave(struct vt_sample_timer *t);

#pragma GCC visibility pop

#endif
