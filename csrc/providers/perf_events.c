/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls are made directly: libc has no perf_event_open, and the shims do not see the descriptors. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include "../core/sys.h"
#include "../core/text.h"
#include "perf_events.h"

#define HIGH_DESCRIPTOR 512

/* meaning: NULL for a second name of the event before. */
static const struct {
    const char *name;
    uint32_t type;
    uint64_t config;
    const char *meaning;
} events[] = {
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, "ns of CPU time of the thread"},
    {"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, "ns of CPU time of the thread"},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, "page faults"},
    {"faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, NULL},
    {"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, "page faults without reading from a disk"},
    {"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, "page faults that read from a disk"},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES,
     "switches of the processor to another thread"},
    {"cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, NULL},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, "moves of the thread to another CPU"},
    {"migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, NULL},
    {"alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS,
     "unaligned accesses that the kernel completes"},
    {"emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS, "instructions that the kernel emulates"},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "cycles of the processor"},
    {"cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, NULL},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, "instructions"},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, "accesses to the last level of the cache"},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, "misses in the last level of the cache"},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "branch instructions"},
    {"branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, NULL},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, "branches that were predicted wrong"},
    {"bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES, "cycles of the bus"},
    {"stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND,
     "cycles in which no instruction was fetched or decoded"},
    {"stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND,
     "cycles in which no instruction was completed"},
    {"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, "cycles at a constant clock rate"}};

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int find_raw(const char *name, size_t length, struct vt_perf_event *found)
{
    uint64_t config = 0;
    if (length < 2 || length > 17 || *name != 'r') return 0;
    for (size_t i = 1; i < length; i++) {
        if (digit_of(name[i]) < 0) return 0;
        config = config << 4 | (uint64_t)digit_of(name[i]);
    }
    *found = (struct vt_perf_event){PERF_TYPE_RAW, 0, config};
    return 1;
}

int vt_perf_find(const char *name, size_t length, struct vt_perf_event *found)
{
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (strlen(events[i].name) != length || memcmp(events[i].name, name, length)) continue;
        int software = events[i].type == PERF_TYPE_SOFTWARE, is_clock = events[i].config <= PERF_COUNT_SW_TASK_CLOCK;
        *found = (struct vt_perf_event){events[i].type, software && is_clock, events[i].config};
        return 1;
    }
    return find_raw(name, length, found);
}

int vt_perf_is_of_kernel(const struct vt_perf_event *event) { return event->type == PERF_TYPE_SOFTWARE; }

const char *vt_perf_meaning(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (strlen(events[i].name) != length || memcmp(events[i].name, name, length)) continue;
        while (!events[i].meaning) i--;
        return events[i].meaning;
    }
    return "event of the processor";
}

/* Leaves out the kernel part of the event if the kernel does not allow that part. */
static long open_event(struct perf_event_attr *attributes, long leader)
{
    long fd = vt_sys(SYS_perf_event_open, (long)attributes, 0, -1, leader, PERF_FLAG_FD_CLOEXEC, 0);
    if (fd != -EACCES && fd != -EPERM) return fd;
    attributes->exclude_kernel = 1;
    return vt_sys(SYS_perf_event_open, (long)attributes, 0, -1, leader, PERF_FLAG_FD_CLOEXEC, 0);
}

/* Programs expect the lowest free descriptors for themselves, and standard ones below 3. */
static long move_high(long fd)
{
    long high = VT_SYS3(fcntl, fd, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);
    if (high < 0) high = VT_SYS3(fcntl, fd, F_DUPFD_CLOEXEC, 3);
    VT_SYS1(close, fd);
    return high;
}

long vt_perf_open(const struct vt_perf_event *event, uint64_t period)
{
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = event->type;
    attributes.config = event->config;
    attributes.sample_period = period;
    attributes.wakeup_events = period > 0;
    attributes.disabled = period > 0;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
    attributes.exclude_hv = 1;
    long fd = open_event(&attributes, -1);
    return fd < 0 ? fd : move_high(fd);
}

long vt_perf_count(const struct vt_perf_event *event, long leader)
{
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = event->type;
    attributes.config = event->config;
    attributes.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attributes.exclude_hv = 1;
    long fd = open_event(&attributes, leader);
    return fd < 0 ? fd : move_high(fd);
}

static void add_cell(struct vt_text *t, const char *text, const char *end)
{
    vt_text_add(t, text);
    vt_text_add(t, end);
}

size_t vt_perf_list(char *into, size_t bytes)
{
    struct vt_text t = vt_text_into(into, bytes);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        struct vt_perf_event event = {events[i].type, 0, events[i].config};
        if (!events[i].meaning) continue;
        long fd = vt_perf_open(&event, 0);
        if (fd >= 0) VT_SYS1(close, fd);
        add_cell(&t, events[i].name, "\t");
        add_cell(&t, events[i].type == PERF_TYPE_SOFTWARE ? "kernel" : "processor", "\t");
        add_cell(&t, events[i].meaning, "\t");
        add_cell(&t, fd >= 0 ? "" : vt_perf_reason(fd), "\n");
    }
    return (size_t)(t.at - into);
}

const char *vt_perf_reason(long error)
{
    if (error == -ENOENT || error == -EOPNOTSUPP) return "this processor does not have the event";
    return error == -EACCES || error == -EPERM ? "the kernel does not allow the event" : vt_reason(error);
}
