/* SPDX-License-Identifier: BSD-3-Clause */
/* Calculates for half a second of CPU time, then kills itself. */
#include "program.h"

__attribute__((noinline)) void busy(void)
{
    for (volatile int i = 0; i < 1000000; i++) continue;
}

int main(void)
{
    while (clock() < CLOCKS_PER_SEC / 2) busy();
    raise(SIGKILL);
    return 0;
}
