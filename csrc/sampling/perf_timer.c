/* SPDX-License-Identifier: BSD-3-Clause */
/* The program may close the descriptor of an event and get its number for a file of its own. Before each use the kernel
   is asked for the event's id; other files refuse this request without effect. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <time.h>
#include "sampling.h"

static int is_there(const struct vt_sample_timer *t)
{
    uint64_t id = 0;
    return VT_SYS3(ioctl, t->id, PERF_EVENT_IOC_ID, &id) >= 0 && id == t->event;
}

/* An event that counts time is measured by the thread's CPU clock, which also counts the time in the handler, while the
   event stops. */
static uint64_t cpu_time(void) { return vt_clock_ns(CLOCK_THREAD_CPUTIME_ID); }

static long direct(const struct vt_sample_timer *t, const struct vt_sample_rate *rate)
{
    struct f_owner_ex owner = {F_OWNER_TID, (pid_t)VT_SYS0(gettid)};
    long r = VT_SYS3(ioctl, t->id, PERF_EVENT_IOC_ID, &t->event);
    if (r >= 0) r = VT_SYS3(fcntl, t->id, F_SETOWN_EX, &owner);
    if (r >= 0) r = VT_SYS3(fcntl, t->id, F_SETSIG, rate->signal);
    if (r >= 0) r = VT_SYS3(fcntl, t->id, F_SETFL, O_ASYNC | O_NONBLOCK);
    if (r >= 0) r = VT_SYS3(ioctl, t->id, PERF_EVENT_IOC_REFRESH, 1);
    return r;
}

long vt_perf_timer_start(struct vt_sample_timer *t, const struct vt_sample_rate *rate, uint64_t first)
{
    long fd = vt_perf_open(&rate->event, first), r;
    if (fd < 0) return fd;
    t->id = (int)fd;
    if ((r = direct(t, rate)) < 0) {
        VT_SYS1(close, fd);
        return r;
    }
    /* the first sample stands for a whole period, as those of other clocks do */
    t->due = (int64_t)(cpu_time() + first - rate->period);
    t->distance = 0;
    t->waits = 0;
    t->made = 1;
    return 0;
}

uint64_t vt_perf_timer_weight(struct vt_sample_timer *t, const struct vt_sample_rate *rate)
{
    uint64_t weight = rate->period + t->distance;
    t->distance = 0;
    if (rate->event.counts_time) {
        uint64_t now = cpu_time();
        weight = now - (uint64_t)t->due;
        t->due = (int64_t)now;
    }
    return weight;
}

void vt_perf_timer_renew(struct vt_sample_timer *t, const struct vt_sample_rate *rate, uint64_t distance)
{
    uint64_t next = rate->event.counts_time ? distance : rate->period;
    if (is_there(t)) {
        VT_SYS3(ioctl, t->id, PERF_EVENT_IOC_PERIOD, &next);
        VT_SYS3(ioctl, t->id, PERF_EVENT_IOC_REFRESH, 1);
    }
    VT_SET(t->waits, 0);
}

/* The kernel adds to the time of an event while the event counts. */
int vt_perf_timer_has_lost(const struct vt_sample_timer *t, const struct vt_sample_rate *rate)
{
    uint64_t pending = 0, first[2], second[2];
    if (!t->made || VT_READ(t->waits) || !is_there(t)) return 0;
    if (VT_SYS3(read, t->id, first, sizeof first) != sizeof first) return 0;
    if (VT_SYS3(read, t->id, second, sizeof second) != sizeof second || first[1] != second[1]) return 0;
    VT_SYS2(rt_sigpending, &pending, 8); /* last: until the event stops, its signal may come at any moment */
    return !(pending & VT_SIGNAL(rate->signal));
}

int vt_perf_timer_stop(const struct vt_sample_timer *t)
{
    if (!is_there(t)) return 0;
    VT_SYS3(ioctl, t->id, PERF_EVENT_IOC_DISABLE, 0); /* a forked child may have the event open, too */
    VT_SYS1(close, t->id);
    return 1;
}

void vt_perf_timer_leave(struct vt_sample_timer *t)
{
    if (is_there(t)) VT_SYS1(close, t->id);
    t->made = 0;
}
