/* SPDX-License-Identifier: BSD-3-Clause */
/* sampled_loops [ROUNDS]: loops of each kind, one after the other in an outer loop, until each has had its CPU time. Prints the ns
   of each: for, while, do, goto, and of the function `called` with a loop of its own. */
#include "program.h"

static volatile double sink;
static volatile int within = 20000; /* unknown to the compiler, which would make a copy of `called` */
static long long spent[5];

static long long cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

__attribute__((noinline)) static double called(int n)
{
    double s = sink;
    for (int k = 0; k < n; k++) s = 1 / (s + k + 1);
    return s;
}

__attribute__((noinline)) static void loops(int rounds)
{
    double s = sink;
    for (int round = 0; round < rounds; round++) {
        long long begin = cpu();
        for (int i = 0; i < 40000; i++) {
            s = 1 / (s + i + 1);
        }
        long long after = cpu();
        spent[0] += after - begin;
        int w = 30000;
        while (w > 0) {
            s = 1 / (s + w + 2);
            w--;
        }
        begin = cpu();
        spent[1] += begin - after;
        w = 0;
        do {
            s = 1 / (s + w + 3);
            w++;
        } while (w < 20000);
        after = cpu();
        spent[2] += after - begin;
        w = 0;
    again:
        s = 1 / (s + w + 4);
        if (++w < 10000) goto again;
        begin = cpu();
        spent[3] += begin - after;
        sink = s;
        s = called(within);
        spent[4] += cpu() - begin;
    }
    sink = s;
}

int main(int argc, char **argv)
{
    loops(argc > 1 ? atoi(argv[1]) : 3500);
    for (int i = 0; i < 5; i++) printf("%lld\n", spent[i]);
    return 0;
}
