/* SPDX-License-Identifier: BSD-3-Clause */
/* pauses CALLS: main 1 -> work 2 * CALLS, half of them before it prints "ready" and reads a line, then prints "done". */
#include "program.h"

static volatile long sink;

KEEP void work(long i) { sink += i; }

int main(int argc, char **argv)
{
    long calls = argc > 1 ? atol(argv[1]) : 10;
    for (long i = 0; i < calls; i++) work(i);
    puts("ready");
    fflush(stdout);
    getchar();
    for (long i = 0; i < calls; i++) work(i);
    puts("done");
    return 7;
}
