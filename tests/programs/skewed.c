// SPDX-License-Identifier: BSD-3-Clause
// A library to preload: the clocks of a host that is SKEW_NS ns and SKEW_PPM parts per million ahead, and swings by
// SKEW_WAVE ns either way in 20 ms, up and down in straight lines.
#define _GNU_SOURCE
#include "replaced_clock.h"
#include "program.h"

static long long offset, ppm, wave;

static int read_skewed_clock(clockid_t id, struct timespec *t)
{
    struct timespec raw;
    const long failed = syscall(SYS_clock_gettime, id, t);
    if (failed || (id != CLOCK_MONOTONIC_RAW && id != CLOCK_REALTIME)) return (int)failed;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC_RAW, &raw);
    const long long us = raw.tv_nsec / 1000 % 20000, swing = (us < 10000 ? us : 20000 - us) - 5000;
    const long long ns = t->tv_sec * 1000000000ll + t->tv_nsec + offset + swing * wave / 5000 +
                         (raw.tv_sec * 1000000ll + raw.tv_nsec / 1000) * ppm / 1000;
    t->tv_sec = ns / 1000000000;
    t->tv_nsec = ns % 1000000000;
    return 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *o = getenv("SKEW_NS"), *p = getenv("SKEW_PPM"), *w = getenv("SKEW_WAVE");
    offset = o ? atoll(o) : 0;
    ppm = p ? atoll(p) : 0;
    wave = w ? atoll(w) : 0;
    replace_clock(read_skewed_clock);
}
