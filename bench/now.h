/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock that floors read: the same as vtrace's. */
#ifndef BENCH_NOW_H
#define BENCH_NOW_H

#include <stdint.h>
#include <time.h>

static inline uint64_t now(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

#endif
