/* SPDX-License-Identifier: BSD-3-Clause */
/* user CALLS PASSES: calls a tiny function that contains a region of the user API. Prints the ns per call of each pass.
   With -DVTRACE and vtrace-cc the region is recorded, with the hooks of floor.c the function, else nothing. -DSECTION:
   a section instead of the region. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "vt_user.h"

#ifdef SECTION
#define BEGIN VT_SECTION_START("tiny", 1, 0)
#define END VT_SECTION_STOP("tiny", 1, 0)
#else
#define BEGIN VT_USER_START("tiny")
#define END VT_USER_END("tiny")
#endif
#define PLAIN __attribute__((no_instrument_function))

__attribute__((noinline)) long tiny(long x)
{
    BEGIN;
    __asm__ volatile("" : "+r"(x));
    END;
    return x + 1;
}

static PLAIN double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

PLAIN int main(int argc, char **argv)
{
    long calls = argc > 1 ? atol(argv[1]) : 1000000, passes = argc > 2 ? atol(argv[2]) : 1;
    for (long p = 0; p < passes; p++) {
        long x = 0;
        double begin = now();
        for (long i = 0; i < calls; i++) x = tiny(x);
        if (x < calls) abort();
        printf("%.3f\n", (now() - begin) / (double)calls);
    }
    return 0;
}
