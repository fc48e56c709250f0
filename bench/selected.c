/* SPDX-License-Identifier: BSD-3-Clause */
/* selected [N]: the main program of bench/compiled.py. Without N it does nothing. Else it selects main alone, then
   functions with numbers below N, by one pattern for each digit of N, then main alone again. Prints the ms that the
   second and the third selection take. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "vt_user.h"

volatile long sink;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double select_functions(const char *patterns)
{
    double begin = now();
    VT_FUNCTIONS(patterns);
    (void)patterns;
    return now() - begin;
}

int main(int argc, char **argv)
{
    char patterns[256] = "main";
    size_t used = 4;
    if (argc < 2) return 0;
    select_functions("main");
    for (long n = atol(argv[1]); n > 1; n /= 10) {
        /* f_?, f_??, f_??? ...: 10, 90, 900 functions */
        static const char marks[] = "????????";
        int digits = 0;
        for (long rest = n - 1; rest; rest /= 10) digits++;
        used += (size_t)snprintf(patterns + used, sizeof patterns - used, ";f_%.*s", digits, marks);
    }
    printf("%.3f\n", select_functions(patterns));
    printf("%.3f\n", select_functions("main"));
    return 0;
}
