/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of Linux as counters. All events of a thread are one group: the kernel counts all of them at the same time,
   and one read gives all values. For events of the processor, two more counters have the times for which the group was
   enabled and running: if others use the processor's counters, the group runs only for a part of the time. An event has
   no pread. */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <string.h>
#include "provider.h"

enum { AN_EVENT, TIME_ENABLED, TIME_RUNNING };

static const struct {
    const char *name, *meaning;
} times[] = {[TIME_ENABLED] = {"time-enabled", "ns for which counting of the processor's events was enabled"},
             [TIME_RUNNING] = {"time-running", "ns for which the processor's events were counted"}};

static int find(const char *name, size_t length, struct vt_counter *found)
{
    found->mode = 'a';
    found->scope = VT_SCOPE_THREAD;
    for (uint32_t i = TIME_ENABLED; i <= TIME_RUNNING; i++)
        if (strlen(times[i].name) == length && !memcmp(times[i].name, name, length)) {
            found->number = i;
            found->unit = "ns";
            found->meaning = times[i].meaning;
            return 1;
        }
    found->number = AN_EVENT;
    if (!vt_perf_find(name, length, &found->event)) return 0;
    found->unit = found->event.counts_time ? "ns" : "#";
    found->meaning = vt_perf_meaning(name, length);
    return 1;
}

/* A program may close a descriptor and get its number for a file of its own. The kernel is therefore asked for the
   event's id first; other files refuse this request without effect. */
static int is_ours(const struct vt_provider_state *s, unsigned i)
{
    uint64_t id = 0;
    return VT_SYS3(ioctl, s->descriptors[i], PERF_EVENT_IOC_ID, &id) >= 0 && id == s->ids[i];
}

static void close_all(struct vt_provider_state *s)
{
    for (uint32_t i = 0; i < s->opened; i++)
        if (is_ours(s, i)) VT_SYS1(close, s->descriptors[i]);
    s->opened = 0;
}

/* On Linux 6.18 an event that joins a running group of another PMU (task-clock and page-faults belong to two) stayed 0
   in short programs. */
static void restart(const struct vt_provider_state *s)
{
    if (s->opened < 2) return;
    VT_SYS3(ioctl, s->descriptors[0], PERF_EVENT_IOC_DISABLE, 0);
    VT_SYS3(ioctl, s->descriptors[0], PERF_EVENT_IOC_ENABLE, 0);
}

static long open_all(const struct vt_counter *counters, unsigned n, struct vt_provider_state *s, unsigned *failed)
{
    for (unsigned i = 0; i < n; i++) {
        if (counters[i].number != AN_EVENT) continue;
        long fd = vt_perf_count(&counters[i].event, s->opened ? s->descriptors[0] : -1), r = fd;
        if (fd >= 0) {
            r = VT_SYS3(ioctl, fd, PERF_EVENT_IOC_ID, &s->ids[s->opened]);
            s->descriptors[s->opened++] = (int)fd;
        }
        if (r >= 0) continue;
        *failed = i;
        close_all(s);
        return r;
    }
    restart(s);
    return 0;
}

static long read_all(const struct vt_counter *counters, unsigned n, struct vt_provider_state *s, uint64_t *values)
{
    struct {
        uint64_t n, enabled, running, values[VT_COUNTERS_MOST];
    } group = {0, 0, 0, {0}};
    unsigned next = 0;
    if (s->opened) {
        long r = is_ours(s, 0) ? VT_SYS3(read, s->descriptors[0], &group, sizeof group) : -EBADF;
        if (r < 0) return r;
        if (group.n != s->opened) return -EBADF;
    }
    for (unsigned i = 0; i < n; i++) {
        if (counters[i].number == TIME_ENABLED) values[i] = group.enabled;
        else if (counters[i].number == TIME_RUNNING) values[i] = group.running;
        else values[i] = group.values[next++];
    }
    return 0;
}

const struct vt_provider vt_perf_counters = {
    .find = find, .open = open_all, .read = read_all, .close = close_all, .reason = vt_perf_reason};
