/* SPDX-License-Identifier: BSD-3-Clause */
/* A library to preload: from its 50 000th reading on CLOCK_MONOTONIC_RAW is 2 ms slow. */
#define _GNU_SOURCE
#include "replaced_clock.h"
#include "program.h"

static int read_slow_clock(clockid_t id, struct timespec *t)
{
    static _Atomic long reads;
    long r = syscall(SYS_clock_gettime, id, t);
    if (r || id != CLOCK_MONOTONIC_RAW || atomic_fetch_add(&reads, 1) < 50000) return (int)r;
    t->tv_nsec -= 2000000;
    if (t->tv_nsec < 0) {
        t->tv_nsec += 1000000000;
        t->tv_sec--;
    }
    return 0;
}

__attribute__((constructor)) static void begin(void) { replace_clock(read_slow_clock); }
