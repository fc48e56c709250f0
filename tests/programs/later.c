/* SPDX-License-Identifier: BSD-3-Clause */
/* A library to preload, as libfaketime is: the program reads all clocks one year later. */
#define _GNU_SOURCE
#include "program.h"

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    now->tv_sec += 365 * 24 * 3600;
    return result;
}
