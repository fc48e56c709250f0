/* SPDX-License-Identifier: BSD-3-Clause */
/* daemonizes: main -> before 3; the daemon -> after 5. */
#define _DEFAULT_SOURCE
#include "program.h"

static volatile long sink;

KEEP void before(long i) { sink += i; }

KEEP void after(long i) { sink += i; }

int main(void)
{
    for (long i = 0; i < 3; i++) before(i);
    if (daemon(1, 1)) return 1;
    for (long i = 0; i < 5; i++) after(i);
    puts("done");
    return 0;
}
