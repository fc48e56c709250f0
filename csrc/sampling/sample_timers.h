/* SPDX-License-Identifier: BSD-3-Clause */
/* A timer for each sampled thread, on the thread's CPU time, on elapsed time or on a performance event, which signals
   that thread. */
#ifndef VT_SAMPLE_TIMERS_H
#define VT_SAMPLE_TIMERS_H

#include <stdint.h>
#include "../core/format.h"
#include "../providers/perf_events.h"

/* The timer of a thread. Its expirations are planned on its clock, at random distances around the period. So a program
   in step with the kernel's tick is not always sampled at the same place, and no time is lost between two samples. */
struct vt_sample_timer {
    int id; /* the kernel's id of a timer, or the descriptor of a performance event */
    int made; /* 1: the timer exists */
    uint64_t event; /* the kernel's id of a performance event */
    /* ns on the clock: next expiration, and the time before it for which it stands. For a performance event: time of
       the last sample, and number of events since then whose signal reached no handler */
    int64_t due; /* the first one may be before the start of the thread, and below 0 */
    uint64_t distance;
    int is_first; /* 1: nothing has expired yet */
    int waits; /* 1: the performance event has sent its signal and is not started again yet */
    uint64_t random;
};

/* The settings of all timers, in ns; with VT_SAMPLE_CLOCK_PERF the period is a number of events, unless these count
   time. tick: the kernel checks CPU times at its ticks only. */
struct vt_sample_rate {
    enum vt_sample_clock clock;
    uint64_t period, tick;
    int signal;
    struct vt_perf_event event;
};

#pragma GCC visibility push(hidden)

/* Makes and starts the timer of the calling thread. Returns 0 or -errno. */
long vt_sample_timer_start(struct vt_sample_timer *t, const struct vt_sample_rate *rate);
/* Plans the next expiration, but starts no performance event. overruns: of the current expiration. Returns the time in
   ns, or the number of events, for which the expiration stands. */
uint64_t vt_sample_timer_next(struct vt_sample_timer *t, const struct vt_sample_rate *rate, uint32_t overruns);
/* Notes a signal that reached no handler: the next sample stands for its time, too. */
void vt_sample_timer_miss(struct vt_sample_timer *t, const struct vt_sample_rate *rate);
/* Starts a performance event again after its signal. The timers of the other clocks continue without a call. */
void vt_sample_timer_renew(struct vt_sample_timer *t, const struct vt_sample_rate *rate);
/* Any thread may stop a timer. Returns 0 if the program has closed the descriptor of its performance event before. */
int vt_sample_timer_stop(struct vt_sample_timer *t, const struct vt_sample_rate *rate);
/* Returns the kernel's tick in ns. */
uint64_t vt_sample_tick(void);

#pragma GCC visibility pop

#endif
