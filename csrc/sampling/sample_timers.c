/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers of the kernel with SIGEV_THREAD_ID (timer_create(2)). System calls are made directly: libc's functions need
   librt before glibc 2.34, and the timers of the program stay unseen. VT_SAMPLE_CLOCK_PERF: perf_timer.c. */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <time.h>
#include "sampling.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif
#define SECOND UINT64_C(1000000000)
#define SOON 50000 /* ns: longer than the start of a timer, shorter than a tick */

static struct timespec time_of(uint64_t ns) { return (struct timespec){(time_t)(ns / SECOND), (long)(ns % SECOND)}; }

static int clock_of(const struct vt_sample_rate *rate)
{
    return rate->clock == VT_SAMPLE_CLOCK_CPU ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
}

uint64_t vt_sample_tick(void)
{
    struct timespec tick = {0, 0};
    VT_SYS2(clock_getres, CLOCK_MONOTONIC_COARSE, &tick);
    return (uint64_t)tick.tv_sec * SECOND + (uint64_t)tick.tv_nsec;
}

/* Returns a random number (xorshift; Marsaglia 2003). */
static uint64_t draw(struct vt_sample_timer *t)
{
    t->random ^= t->random << 13;
    t->random ^= t->random >> 7;
    return t->random ^= t->random << 17;
}

/* Draws a distance with the mean of the period: for CPU times by whole ticks, else from half of the period to one and a
   half. */
static uint64_t draw_distance(struct vt_sample_timer *t, const struct vt_sample_rate *rate)
{
    uint64_t unit = rate->clock == VT_SAMPLE_CLOCK_CPU ? rate->tick : rate->period / 128;
    uint64_t units = unit ? rate->period / unit / 2 : 0;
    return rate->period - units * unit + draw(t) % (2 * units + 1) * unit;
}

/* The period as interval keeps the timer going if a signal gets lost. A signal may come after another thread has deleted
   the timer: the number may be that of a timer of the program then. */
static long arm(const struct vt_sample_timer *t, const struct vt_sample_rate *rate, int64_t at)
{
    if (!VT_READ(t->made)) return 0;
    struct itimerspec when = {.it_interval = time_of(rate->period), .it_value = time_of((uint64_t)at)};
    return VT_SYS4(timer_settime, t->id, TIMER_ABSTIME, &when, NULL);
}

/* Plans the first expiration at a random point of the first period; it stands for a whole period. Otherwise the sums
   would lack the last part of each thread, up to a period, and all threads shorter than a period. The kernel notices an
   expiration of CPU time at its next tick, on average half a tick later, so plans are half a tick early. An expiration
   before the start of the thread comes at the first tick, too: the kernel would signal a timer that has already expired
   immediately, always inside this function. */
static long start_anywhere(struct vt_sample_timer *t, const struct vt_sample_rate *rate)
{
    int64_t late = rate->clock == VT_SAMPLE_CLOCK_CPU ? (int64_t)rate->tick / 2 : 0;
    int64_t now = (int64_t)vt_clock_ns(clock_of(rate)), soon = now + SOON;
    t->due = now + (int64_t)(draw(t) % rate->period) - late;
    t->distance = rate->period;
    t->is_first = 1;
    return arm(t, rate, t->due < soon ? soon : t->due);
}

/* Returns the number of expirations since the first one, which may have been planned before the timer began. */
static uint64_t overruns_of_first(struct vt_sample_timer *t, const struct vt_sample_rate *rate)
{
    int64_t passed = (int64_t)vt_clock_ns(clock_of(rate)) - t->due;
    t->is_first = 0;
    return passed > 0 ? (uint64_t)passed / rate->period : 0;
}

long vt_sample_timer_start(struct vt_sample_timer *t, const struct vt_sample_rate *rate)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = rate->signal};
    event.sigev_value.sival_ptr = (void *)(uintptr_t)rate; /* distinguishes the signal from those of the program */
    event.sigev_notify_thread_id = (pid_t)VT_SYS0(gettid);
    t->random = vt_now() << 16 ^ (uint64_t)event.sigev_notify_thread_id ^ SECOND;
    if (rate->clock == VT_SAMPLE_CLOCK_PERF) return vt_perf_timer_start(t, rate, draw(t) % rate->period + 1);
    long r = VT_SYS3(timer_create, clock_of(rate), &event, &t->id);
    if (r < 0) return r;
    t->made = 1;
    return start_anywhere(t, rate);
}

uint64_t vt_sample_timer_next(struct vt_sample_timer *t, const struct vt_sample_rate *rate, uint32_t overruns)
{
    if (rate->clock == VT_SAMPLE_CLOCK_PERF) {
        VT_SET(t->waits, 1);
        return vt_perf_timer_weight(t, rate);
    }
    uint64_t missed = (t->is_first ? overruns_of_first(t, rate) : overruns) * rate->period;
    uint64_t weight = t->distance + missed;
    t->distance = draw_distance(t, rate);
    t->due += (int64_t)(missed + t->distance);
    arm(t, rate, t->due);
    return weight;
}

void vt_sample_timer_miss(struct vt_sample_timer *t, const struct vt_sample_rate *rate)
{
    if (rate->clock != VT_SAMPLE_CLOCK_PERF) return;
    VT_SET(t->waits, 1);
    t->distance += rate->period;
}

void vt_sample_timer_renew(struct vt_sample_timer *t, const struct vt_sample_rate *rate)
{
    if (rate->clock == VT_SAMPLE_CLOCK_PERF && t->made) vt_perf_timer_renew(t, rate, draw_distance(t, rate));
}

int vt_sample_timer_stop(struct vt_sample_timer *t, const struct vt_sample_rate *rate)
{
    if (!__atomic_exchange_n(&t->made, 0, __ATOMIC_SEQ_CST)) return 1;
    if (rate->clock == VT_SAMPLE_CLOCK_PERF) return vt_perf_timer_stop(t);
    VT_SYS1(timer_delete, t->id);
    return 1;
}
