/* SPDX-License-Identifier: BSD-3-Clause */
/* Forks a child that only calculates, and a child that calls exec. */
#include "program.h"

__attribute__((noinline)) void in_child(void)
{
    while (clock() < CLOCKS_PER_SEC / 2)
        for (volatile int i = 0; i < 1000000; i++) continue;
}

int main(void)
{
    if (!fork()) {
        in_child();
        exit(0);
    }
    if (!fork()) {
        execl("/bin/true", "true", (char *)0);
        _exit(1);
    }
    while (wait(NULL) > 0) continue;
    return 0;
}
