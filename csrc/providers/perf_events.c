/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls are made directly: libc has no perf_event_open, and the shims do not see the descriptors. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <strings.h>
#include "provider.h"

/* ---- Names similar to an unknown name ---- */

void vt_near_begin(struct vt_near *n, const char *wanted, size_t length)
{
    *n = (struct vt_near){.wanted = wanted, .length = length, .distance = (unsigned)length / 3};
}

void vt_near_add(struct vt_near *n, const char *name)
{
    size_t length = strlen(name);
    if (length >= VT_TEXT_NAME || n->length >= VT_TEXT_NAME) return;
    unsigned distance = vt_text_distance(n->wanted, n->length, name, length);
    if (distance > n->distance) return;
    if (distance < n->distance) n->count = 0;
    n->distance = distance;
    for (unsigned i = 0; i < n->count; i++)
        if (!strcasecmp(n->names[i], name)) return; /* libpfm4 has the kernel's names, too, in capitals */
    if (n->count < VT_NEAR_NAMES) memcpy(n->names[n->count++], name, length + 1);
}

const char *vt_near_tell(const struct vt_near *n, const char *what, char *into, size_t bytes)
{
    struct vt_text t = vt_text_into(into, bytes);
    vt_text_add(&t, "unknown ", what);
    for (unsigned i = 0; i < n->count; i++) {
        vt_text_add(&t, !i ? ", did you mean " : i + 1 < n->count ? ", " : " or ", n->names[i]);
    }
    vt_text_add(&t, n->count ? "? (vtrace counters lists them)" : " (vtrace counters lists them)");
    return into;
}

#define LAST_OF_PROGRAM 511 /* descriptor */

/* meaning: NULL for a second name of the previous event. */
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
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, "mispredicted branches"},
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
    *found = (struct vt_perf_event){.type = PERF_TYPE_RAW, .config = config};
    return 1;
}

static int find_generic(const char *name, size_t length, struct vt_perf_event *found)
{
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (strlen(events[i].name) != length || memcmp(events[i].name, name, length)) continue;
        *found = (struct vt_perf_event){.type = events[i].type, .config = events[i].config};
        return 1;
    }
    return 0;
}

int vt_perf_find(const char *name, size_t length, struct vt_perf_event *found)
{
    if (!find_generic(name, length, found) && !find_raw(name, length, found) &&
        !vt_pmu_find(VT_PMU_ROOT, name, length, found) && !vt_pfm_find(name, length, found))
        return 0;
    found->counts_time = found->type == PERF_TYPE_SOFTWARE && found->config <= PERF_COUNT_SW_TASK_CLOCK;
    return 1;
}

static void add_pmu_name(const char *name, const char *terms, const struct vt_perf_event *event, void *near)
{
    (void)terms, (void)event;
    vt_near_add(near, name);
}

/* A user may omit the PMU before an event of libpfm4. */
static void add_pfm_name(const char *name, void *data)
{
    struct vt_near *near = data;
    const char *separator = strstr(name, "::");
    int has_pmu = memmem(near->wanted, near->length, "::", 2) != NULL;
    vt_near_add(near, separator && !has_pmu ? separator + 2 : name);
}

void vt_perf_add_names(struct vt_near *near)
{
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) vt_near_add(near, events[i].name);
    vt_pmu_each(VT_PMU_ROOT, add_pmu_name, near);
    vt_pfm_each(add_pfm_name, near);
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

static long open_event(struct perf_event_attr *attributes, long leader)
{
    return vt_sys(SYS_perf_event_open, (long)attributes, 0, -1, leader, PERF_FLAG_FD_CLOEXEC, 0);
}

/* The lower descriptors belong to the program, which expects the lowest free one, and may use all up to its limit. */
static long move_high(long fd)
{
    long high = VT_SYS3(fcntl, fd, F_DUPFD_CLOEXEC, LAST_OF_PROGRAM + 1);
    VT_SYS1(close, fd);
    return high == -EINVAL ? -EMFILE : high;
}

/* Some PMUs refuse an event that excludes the kernel or the program. */
static long open_as_allowed(struct perf_event_attr *attributes, long leader)
{
    long fd = open_event(attributes, leader);
    if (fd == -EINVAL) {
        attributes->exclude_hv = 0;
        fd = open_event(attributes, leader);
    }
    if (fd == -EACCES || fd == -EPERM) {
        attributes->exclude_hv = attributes->exclude_kernel = 1;
        long without_kernel = open_event(attributes, leader);
        if (without_kernel >= 0) return without_kernel;
    }
    return fd;
}

static struct perf_event_attr attributes_of(const struct vt_perf_event *event)
{
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = event->type;
    attributes.config = event->config;
    attributes.config1 = event->config1;
    attributes.config2 = event->config2;
    attributes.exclude_hv = 1;
    attributes.exclude_user = event->without_user & 1;
    attributes.exclude_kernel = event->without_kernel & 1;
    return attributes;
}

long vt_perf_open(const struct vt_perf_event *event, uint64_t period)
{
    struct perf_event_attr attributes = attributes_of(event);
    attributes.sample_period = period;
    attributes.wakeup_events = period > 0;
    attributes.disabled = period > 0;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
    long fd = open_as_allowed(&attributes, -1);
    return fd < 0 ? fd : move_high(fd);
}

long vt_perf_count(const struct vt_perf_event *event, long leader)
{
    struct perf_event_attr attributes = attributes_of(event);
    attributes.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    long fd = open_as_allowed(&attributes, leader);
    return fd < 0 ? fd : move_high(fd);
}

const char *vt_perf_reason(long error)
{
    if (error == -ENOENT || error == -ENODEV || error == -EOPNOTSUPP) return "this processor does not have the event";
    if (error == -EMFILE)
        return "the limit on descriptors (ulimit -n) leaves none above " VT_TEXT_NUMBER(LAST_OF_PROGRAM);
    if (error == -ENOSYS) return "the kernel has no performance events, or hides them";
    if (error == -EBUSY) return "another program has all of the processor's counters";
    if (error == -EBADF) return "the program has closed the descriptor of the event";
    if (error == -EINVAL) return "the kernel does not count the event for single threads";
    return error == -EACCES || error == -EPERM ? "the kernel does not allow the event" : vt_reason(error);
}

const char *vt_perf_unsampled(const struct vt_perf_event *event, uint64_t period)
{
    long fd = vt_perf_open(event, period);
    if (fd >= 0) {
        VT_SYS1(close, fd);
        return NULL;
    }
    long counted = period ? vt_perf_open(event, 0) : fd;
    if (counted < 0) return vt_perf_reason(fd);
    VT_SYS1(close, counted);
    return "the kernel counts the event, but takes no samples by it";
}

/* ---- The list for vtrace counters ---- */

#define LINE_BYTES 1024
#define USUAL_PERIOD 1000000

static void add_line(struct vt_text *t, const char *const *cells, int n)
{
    char line[LINE_BYTES];
    struct vt_text l = vt_text_into(line, sizeof line);
    for (int i = 0; i < n; i++) {
        vt_text_add(&l, cells[i], i + 1 < n ? "\t" : "\n");
    }
    if (l.at < l.end && l.at - line <= t->end - t->at) vt_text_add(t, line);
}

static void list_one(struct vt_text *t, const char *name, const char *meaning, const struct vt_perf_event *event)
{
    const char *missing = vt_perf_unsampled(event, 0), *unsampled = vt_perf_unsampled(event, USUAL_PERIOD);
    const char *counter = event->type == PERF_TYPE_SOFTWARE ? "kernel" : "processor";
    const char *cells[] = {name, counter, meaning, missing ? missing : "", unsampled ? unsampled : ""};
    add_line(t, cells, 5);
}

static void list_pmu_event(const char *name, const char *terms, const struct vt_perf_event *event, void *t)
{
    char meaning[LINE_BYTES / 2];
    struct vt_text m = vt_text_into(meaning, sizeof meaning);
    vt_text_add(&m, "event of a PMU of the kernel: ", terms);
    vt_text_plain(meaning);
    list_one(t, name, meaning, event);
}

size_t vt_perf_list(char *into, size_t bytes)
{
    struct vt_text t = vt_text_into(into, bytes);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        struct vt_perf_event event = {.type = events[i].type, .config = events[i].config};
        if (events[i].meaning) list_one(&t, events[i].name, events[i].meaning, &event);
    }
    vt_pmu_each(VT_PMU_ROOT, list_pmu_event, &t);
    return (size_t)(t.at - into);
}
