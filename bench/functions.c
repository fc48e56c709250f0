/* SPDX-License-Identifier: BSD-3-Clause */
/* functions CALLS PASSES: calls a tiny function CALLS times, PASSES times over; prints the ns per call of each pass.
   Compiled with the hooks of vtrace, with those of floor.c, and with neither.                                        */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PLAIN __attribute__((no_instrument_function))

__attribute__((noinline)) long tiny(long x)
{
    __asm__ volatile("" : "+r"(x));
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
    long calls = argc > 1 ? atol(argv[1]) : 1000000, passes = argc > 2 ? atol(argv[2]) : 1, x = 0;
    for (long p = 0; p < passes; p++) {
        double begin = now();
        for (long i = 0; i < calls; i++) x = tiny(x);
        printf("%.3f\n", (now() - begin) / (double)calls);
    }
    return x != calls * passes;
}
