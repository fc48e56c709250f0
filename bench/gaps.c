/* SPDX-License-Identifier: BSD-3-Clause */
/* gaps TIMES [US]: sleeps US us, or 5 ms, and calls a function, TIMES times. Prints the CPU time in us of a turn. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PLAIN __attribute__((no_instrument_function))

static PLAIN double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

__attribute__((noinline)) static void work(void) { __asm__ volatile("" ::: "memory"); }

PLAIN int main(int argc, char **argv)
{
    const int times = argc > 1 ? atoi(argv[1]) : 200;
    const struct timespec pause = {0, 1000 * (argc > 2 ? atoi(argv[2]) : 5000)};
    work();
    const double begin = now();
    for (int i = 0; i < times; i++) {
        nanosleep(&pause, NULL);
        work();
    }
    printf("%.2f\n", (now() - begin) / times);
    return 0;
}
