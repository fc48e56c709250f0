/* SPDX-License-Identifier: BSD-3-Clause */
/* Calculates 0.3 s of CPU time with recording on, and as long with recording off. */
#include <time.h>
#include "vt_user.h"

__attribute__((noinline)) void on(void)
{
    clock_t end = clock() + 3 * CLOCKS_PER_SEC / 10;
    while (clock() < end)
        for (volatile int i = 0; i < 1000000; i++) continue;
}

__attribute__((noinline)) void off(void)
{
    clock_t end = clock() + 3 * CLOCKS_PER_SEC / 10;
    while (clock() < end)
        for (volatile int i = 0; i < 1000000; i++) continue;
}

int main(void)
{
    on();
    VT_OFF();
    off();
    VT_ON();
    return 0;
}
