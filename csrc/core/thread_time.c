/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include "recording.h"

#define LEAST 100000 /* ns by which times of two clocks do not differ */
#define TICK_US 10000 /* a tick of /proc is 1/100 s on all machines (USER_HZ) */

static struct vt_usage before; /* of the main thread at load of the library, from earlier programs (exec) */

static _Atomic int counts_no_waits; /* 1: the kernel gives no times of waiting for a processor */

/* Asks getrusage(2) about the calling thread. All zero: the kernel does not tell. */
static struct rusage usage_of_own(void)
{
    struct rusage usage = {.ru_nvcsw = 0};
    (void)VT_SYS2(getrusage, RUSAGE_THREAD, &usage);
    return usage;
}

static uint64_t us_of(struct timeval time) { return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec; }

static struct vt_usage own_usage(void)
{
    const struct rusage u = usage_of_own();
    return (struct vt_usage){.user = us_of(u.ru_utime),
                             .system = us_of(u.ru_stime),
                             .minor_faults = (uint64_t)u.ru_minflt,
                             .major_faults = (uint64_t)u.ru_majflt};
}

static uint64_t number_at(const char **at)
{
    uint64_t value = 0;
    while (**at == ' ') ++*at;
    for (; **at >= '0' && **at <= '9'; ++*at) value = value * 10 + (uint64_t)(**at - '0');
    return value;
}

/* Reads a file of a thread of this process into a zero-terminated string. thread: 0 for the calling one. */
static long read_of(uint32_t thread, const char *name, char *into, size_t bytes)
{
    char path[64];
    struct vt_text t = vt_text_into(path, sizeof path);
    vt_text_add(&t, thread ? "/proc/self/task/" : "/proc/thread-self");
    if (thread) vt_text_dec(&t, thread);
    vt_text_add(&t, "/", name);
    return vt_read_file(path, into, bytes);
}

/* Returns the most pages of the process in memory: VmHWM of proc_pid_status(5), in KiB. getrusage counts those of the
   programs before an exec, too. */
static uint64_t most_pages(void)
{
    char status[2048];
    const char *at = read_of(0, "status", status, sizeof status) > 0 ? strstr(status, "VmHWM:") : NULL;
    if (!at) return 0;
    at += strcspn(at, "0123456789");
    return number_at(&at) * 1024 / (vt_process.page_size ? vt_process.page_size : 4096);
}

/* Returns the usage of another thread: the members 10, 12, 14 and 15 of proc_pid_stat(5). The second member is the
   thread's name in parentheses, which may have any characters. */
static struct vt_usage usage_of(uint32_t thread)
{
    char stat[512];
    uint64_t member[16] = {0};
    if (read_of(thread, "stat", stat, sizeof stat) <= 0) return (struct vt_usage){0};
    const char *at = strrchr(stat, ')');
    for (int i = 3; at && i < 16; i++) {
        const char *from = at = strchr(at + 1, ' ');
        if (from) member[i] = number_at(&from);
    }
    return (struct vt_usage){.user = member[14] * TICK_US,
                             .system = member[15] * TICK_US,
                             .minor_faults = member[10],
                             .major_faults = member[12]};
}

/* 1: the file may be there at the next reading. -EBADF: the program has closed the descriptor. */
static int is_passing(long error)
{
    return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -EINTR || error == -EBADF;
}

/* Reads the ns that a thread has waited for a processor so far: the second number of schedstat (the kernel's
   Documentation/scheduler/sched-stats.rst). thread: 0 for the calling one. Signals are held, since a handler that leaves
   by siglongjmp would leave a descriptor open. Returns 1, or 0 if the kernel does not tell. */
static int read_waits(uint32_t thread, uint64_t *ns)
{
    char text[96];
    const char *at = text;
    uint64_t signals;
    if (atomic_load_explicit(&counts_no_waits, memory_order_relaxed)) return 0;
    vt_hold_signals(&signals);
    const long n = read_of(thread, "schedstat", text, sizeof text);
    vt_release_signals(&signals);
    if (n < 0 && !is_passing(n) && !thread) atomic_store(&counts_no_waits, 1);
    if (n <= 0) return 0;
    number_at(&at);
    *ns = number_at(&at);
    return 1;
}

/* The times of a thread at one moment, in ns, and how often it has slept. */
struct reading {
    uint64_t waited, ran, at, sleeps;
};

/* Reads the times of the calling thread: again if it may have lost the processor meanwhile, since they would not fit
   together. thread: as in read_waits. Returns 0 if the kernel does not tell the waits. */
static int read_times(uint32_t thread, struct reading *r)
{
    int known = 1;
    uint64_t begin;
    for (int tries = 0; tries < 4; tries++) {
        begin = vt_clock_ns(CLOCK_MONOTONIC);
        known = read_waits(thread, &r->waited);
        r->ran = vt_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        r->at = vt_clock_ns(CLOCK_MONOTONIC);
        if (!known || r->at - begin < LEAST) break;
    }
    r->sleeps = (uint64_t)usage_of_own().ru_nvcsw;
    return known;
}

/* Of the main thread before recording, also those in earlier programs (exec). at 0: another thread read them. */
static struct reading before_recording;

struct vt_off_core vt_thread_off_core(struct vt_location *l)
{
    struct vt_off_core found = {0, 0};
    struct reading now = {.waited = l->waited};
    uint64_t last = l->waited;
    const int known = read_times(0, &now);
    /* no descriptor is free: the next reading tells the whole time */
    if (!known && !atomic_load_explicit(&counts_no_waits, memory_order_relaxed)) return found;
    if (!l->number && !(vt_process.head.forked & ~VT_COUNTS) && last < before_recording.waited)
        last = before_recording.waited;
    if (now.waited > last) found.waited = now.waited - last;
    const int64_t off = (int64_t)(now.at - l->core_read - (now.ran - l->ran)), rest = off - (int64_t)found.waited;
    /* where the kernel counts no waits, a thread that could run cannot be told from one that slept */
    if (l->core_read && known && rest > 0) {
        if (now.sleeps != l->sleeps) found.blocked = (uint64_t)rest;
        else if (rest > LEAST) found.waited = (uint64_t)off; /* its machine lost the processor */
    }
    l->waited = now.waited > l->waited ? now.waited : l->waited;
    l->ran = now.ran;
    l->core_read = now.at;
    l->sleeps = now.sleeps;
    return found;
}

void vt_off_core_start(struct vt_location *l)
{
    const int is_known = !l->number && !(vt_process.head.forked & ~VT_COUNTS) && before_recording.at;
    l->ran = is_known ? before_recording.ran : vt_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    l->core_read = is_known ? before_recording.at : vt_clock_ns(CLOCK_MONOTONIC);
    l->sleeps = is_known ? before_recording.sleeps : (uint64_t)usage_of_own().ru_nvcsw;
}

void vt_thread_waits_start(void)
{
    struct reading now = {.waited = 0};
    (void)read_times(vt_process.pid, &now);
    if ((uint32_t)VT_SYS0(gettid) != vt_process.pid) now.at = 0;
    before_recording = now;
}

__attribute__((constructor)) static void note_start(void) { before = own_usage(); }

static uint64_t without(uint64_t time, uint64_t earlier) { return time < earlier ? 0 : time - earlier; }

static struct vt_usage current(struct vt_location *l)
{
    struct vt_usage now = l == vt_own_location ? own_usage() : usage_of(VT_READ(l->thread));
    if (l->number || (vt_process.head.forked & ~VT_COUNTS))
        return now; /* the kernel counts the usage of a forked child from 0 */
    now.user = without(now.user, before.user);
    now.system = without(now.system, before.system);
    now.minor_faults = without(now.minor_faults, before.minor_faults);
    now.major_faults = without(now.major_faults, before.major_faults);
    return now;
}

struct vt_usage vt_thread_usage(struct vt_location *l)
{
    struct vt_usage sum = {.user = VT_READ(l->used.user),
                           .system = VT_READ(l->used.system),
                           .minor_faults = VT_READ(l->used.minor_faults),
                           .major_faults = VT_READ(l->used.major_faults),
                           .in_calls = VT_READ(l->samples.in_calls) / 1000,
                           .resident = l->number ? 0 : most_pages()};
    if (VT_READ(l->is_timed)) return sum;
    const struct vt_usage now = current(l);
    sum.user += now.user;
    sum.system += now.system;
    sum.minor_faults += now.minor_faults;
    sum.major_faults += now.major_faults;
    return sum;
}

void vt_thread_time_end(struct vt_location *l)
{
    const struct vt_usage usage = vt_thread_usage(l);
    VT_SET(l->used.user, usage.user);
    VT_SET(l->used.system, usage.system);
    VT_SET(l->used.minor_faults, usage.minor_faults);
    VT_SET(l->used.major_faults, usage.major_faults);
    VT_SET(l->is_timed, 1);
}
