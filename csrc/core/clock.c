/* SPDX-License-Identifier: BSD-3-Clause */
/* Choosing the clock of the records, and reading all clocks at the same moment.
   A reading of the counter may be executed before earlier instructions, by some ten nanoseconds. The instruction that
   would prevent this (ISB, LFENCE) empties the pipeline at each event, so there is none: if two readings of a thread
   are in the wrong order, the slow path gives the event the time of the previous one. The firmware writes cntfrq_el0
   and may be wrong, so only 0 is refused, and pairs of counter and CLOCK_MONOTONIC_RAW give the frequency. A counter
   of 1 GHz that a slower clock drives advances by several ticks at once: this step is measured, for fewer bytes of a
   time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "settings.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define SECOND 1000000000u
#define VT_PAIR_AGE 1000000000u /* maximum age of a pair in ns; the first pairs follow sooner */

int vt_clock_is_counter;
uint32_t vt_clock_step;

int64_t vt_clock_shift;

/* The kernel's function in the vDSO; NULL: not found, a system call does the same. clock_gettime by its name may be that
   of another preloaded library (libfaketime). */
static int (*read_clock)(clockid_t, struct timespec *);

__attribute__((constructor)) static void find_clock(void)
{
#if defined(__aarch64__)
    static const char name[] = "__kernel_clock_gettime";
#else
    static const char name[] = "__vdso_clock_gettime";
#endif
    int saved = errno;
    vt_suppressed = 1;
    void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (vdso) *(void **)&read_clock = dlsym(vdso, name);
    vt_suppressed = 0;
    errno = saved;
}

uint64_t vt_clock_ns(int id)
{
    struct timespec t = {0, 0};
    if (!read_clock || read_clock(id, &t)) VT_SYS2(clock_gettime, id, &t);
    uint64_t ns = (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
    return id == CLOCK_MONOTONIC_RAW ? ns - (uint64_t)vt_clock_shift : ns;
}

/* Reads the offset of the process's time namespace (time_namespaces(7)). The file tells that of children, which is the
   same until the process calls unshare. */
static void find_shift(void)
{
    char text[256];
    vt_clock_shift = 0;
    if (vt_read_file("/proc/self/timens_offsets", text, sizeof text) <= 0) return;
    const char *at = strstr(text, "monotonic");
    if (!at) return;
    char *end;
    const int64_t seconds = strtoll(at + strlen("monotonic"), &end, 10);
    vt_clock_shift = seconds * (int64_t)SECOND + strtoll(end, NULL, 10);
}

/* 1: the kernel uses the counter as its own clock source. The kernel stops doing so if the counter differs between
   cores or drifts. */
static int kernel_trusts_counter(void)
{
    static char source[64]; /* a forked child reuses the text that its parent has read */
    if (!vt_process.set.clock_counter) return 0;
    if (!*source &&
        vt_read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source) <= 0)
        return 1;
    return !strncmp(source, "tsc", 3) || !strncmp(source, "kvm-clock", 9) || !strncmp(source, "hyperv", 6) ||
           !strncmp(source, "arch_sys_counter", 16);
}

#define STEP_LEAST (8u << 16)
#define STEP_MOST (80u << 16)

/* The number of steps nearest to a distance. distance: ticks; step: 65536ths of a tick. */
static uint64_t steps_in(uint64_t distance, uint64_t step) { return ((distance << 16) + step / 2) / step; }

/* Refines an estimate of the step, with increasing distances between the readings. Returns 0 if too few readings are
   multiples of the step. */
static uint64_t refine(const uint64_t *at, uint64_t step)
{
    uint64_t last = 0, fit = 0;
    for (int i = 1; i < VT_CLOCK_READINGS && step; i++) {
        uint64_t n = steps_in(at[i] - at[0], step);
        if (n <= last || n > 2 * last + 4) continue;
        step = ((at[i] - at[0]) << 16) / n;
        last = n;
    }
    for (int i = 1; i < VT_CLOCK_READINGS && step; i++) {
        uint64_t distance = at[i] - at[0], nearest = steps_in(distance, step) * step >> 16;
        fit += distance - nearest + 2 <= 4;
    }
    return fit >= VT_CLOCK_READINGS - VT_CLOCK_READINGS / 16 ? step : 0;
}

uint32_t vt_clock_step_of(const uint64_t *at)
{
    uint64_t least = UINT64_MAX;
    for (int i = 1; i < VT_CLOCK_READINGS; i++)
        if (at[i] - at[i - 1] >= STEP_LEAST >> 16 && at[i] - at[i - 1] < least) least = at[i] - at[i - 1];
    for (uint64_t part = 1; part <= 8 && least < 1u << 20; part++) {
        uint64_t step = refine(at, (least << 16) / part);
        if (step >= STEP_LEAST && step <= STEP_MOST) return (uint32_t)step;
    }
    return 0;
}

static uint32_t find_step(void)
{
    static uint64_t at[VT_CLOCK_READINGS]; /* static: a forked child may run this in a handler with a small stack */
    for (int i = 0; i < VT_CLOCK_READINGS; i++) at[i] = vt_now();
    return vt_clock_step_of(at);
}

static enum vt_clock_kind choose(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    /* CPUID 0x80000007, EDX bit 8: invariant TSC (AMD64 and Intel 64 manuals) */
    vt_clock_is_counter = __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8) && kernel_trusts_counter();
    return vt_clock_is_counter ? VT_CLOCK_TSC : VT_CLOCK_NANOSECONDS;
#elif defined(__aarch64__)
    uint64_t frequency;
    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
    vt_clock_is_counter = frequency != 0 && kernel_trusts_counter();
    return vt_clock_is_counter ? VT_CLOCK_CNTVCT : VT_CLOCK_NANOSECONDS;
#else
    return VT_CLOCK_NANOSECONDS;
#endif
}

enum vt_clock_kind vt_clock_choose(void)
{
    find_shift();
    enum vt_clock_kind kind = choose();
    vt_clock_step = find_step();
    return kind;
}

struct vt_clock_pair vt_clock_measure(void)
{
    struct vt_clock_pair best = {0, 0, 0};
    uint64_t width = UINT64_MAX;
    for (int i = 0; i < 5; i++) { /* keep the shortest interval: an interrupt may lengthen the others */
        uint64_t before = vt_now(), mono = vt_clock_ns(CLOCK_MONOTONIC_RAW), after = vt_now();
        if (after - before >= width) continue;
        width = after - before;
        best.ticks = before + width / 2;
        best.mono = mono;
    }
    uint64_t mono = vt_clock_ns(CLOCK_MONOTONIC_RAW);
    best.real = vt_clock_ns(CLOCK_REALTIME) - (mono - best.mono);
    return best;
}

/* The newest pair, shared by all threads. words change only while version is odd (a seqlock). */
static struct {
    _Atomic uint32_t version;
    _Atomic uint64_t words[3];
} recent;

static int read_recent(struct vt_clock_pair *p)
{
    uint32_t version = atomic_load(&recent.version);
    p->ticks = atomic_load(&recent.words[0]);
    p->mono = atomic_load(&recent.words[1]);
    p->real = atomic_load(&recent.words[2]);
    return !(version & 1) && p->ticks && atomic_load(&recent.version) == version;
}

/* The first pairs are measured more often, so that a run of a few seconds also has pairs for the interpolation. */
struct vt_clock_pair vt_clock_recent(void)
{
    static _Atomic uint64_t next;
    struct vt_clock_pair p;
    uint64_t now = vt_clock_ns(CLOCK_MONOTONIC_RAW), due = atomic_load_explicit(&next, memory_order_relaxed);
    uint64_t age = now - vt_process.head.pair.mono;
    int fresh =
        now >= due && atomic_compare_exchange_strong(&next, &due, now + (age < VT_PAIR_AGE ? age : VT_PAIR_AGE));
    if (!fresh && read_recent(&p)) return p;
    p = vt_clock_measure();
    uint32_t version = atomic_load(&recent.version);
    if (!fresh || version & 1 || !atomic_compare_exchange_strong(&recent.version, &version, version + 1)) return p;
    atomic_store(&recent.words[0], p.ticks);
    atomic_store(&recent.words[1], p.mono);
    atomic_store(&recent.words[2], p.real);
    atomic_store(&recent.version, version + 2);
    return p;
}
