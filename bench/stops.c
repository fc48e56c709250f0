/* SPDX-License-Identifier: BSD-3-Clause */
/* stops CALLS: calls a tiny function CALLS times. Prints the longest time of GROUP calls in ms, elapsed time and CPU time
   of the thread: the longest stop at an event, since a group without a stop takes about 1 us. Then the times of all calls
   in ns a call. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PLAIN __attribute__((no_instrument_function))
#define GROUP 64

__attribute__((noinline)) long tiny(long x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

static PLAIN double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

PLAIN int main(int argc, char **argv)
{
    const clockid_t clocks[2] = {CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID};
    const long calls = argc > 1 ? atol(argv[1]) : 10000000;
    double begin[2], last[2], most[2] = {0, 0};
    for (int k = 0; k < 2; k++) begin[k] = last[k] = now(clocks[k]);
    for (long i = 0, x = 0; i < calls; i += GROUP) {
        for (int k = 0; k < GROUP; k++) x = tiny(x);
        for (int k = 0; k < 2; k++) {
            const double t = now(clocks[k]);
            if (t - last[k] > most[k]) most[k] = t - last[k];
            last[k] = t;
        }
    }
    for (int k = 0; k < 2; k++) printf("%.4f\n", most[k] / 1e6);
    for (int k = 0; k < 2; k++) printf("%.4f\n", (last[k] - begin[k]) / (double)calls);
    return 0;
}
