/* SPDX-License-Identifier: BSD-3-Clause */
/* A library to preload: from the 50 000th time that CLOCK_MONOTONIC_RAW is read on it is 2 ms behind. */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *t)
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
