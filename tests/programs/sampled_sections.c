/* SPDX-License-Identifier: BSD-3-Clause */
/* sampled_sections ROUNDS: inside runs between fipp_start and fipp_stop, outside does not. In each round both use as much
   CPU time. Prints the CPU time of each in ns. Also C++. */
#include <fj_tool/fipp.h>
#include "program.h"

static volatile int which;

static long long cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

__attribute__((noinline)) static void inside(int n)
{
    which = 1;
    for (volatile int i = 0; i < n; i++) continue;
}

__attribute__((noinline)) static void outside(int n)
{
    which = 2;
    for (volatile int i = 0; i < n; i++) continue;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    long long in = 0, out = 0, begin;
    for (int i = 0; i < rounds; i++) {
        begin = cpu();
        outside(600000);
        out += cpu() - begin;
        fipp_start();
        fipp_start(); /* sections do not nest */
        begin = cpu();
        inside(600000);
        in += cpu() - begin;
        fipp_stop();
        fipp_stop();
    }
    printf("%lld %lld\n", in, out);
    return 0;
}
