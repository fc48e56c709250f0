/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls work 20 times, each after 10 ms. Prints "done". */
#include "program.h"

static volatile long sink;

KEEP void work(void) { sink++; }

int main(void)
{
    const struct timespec pause = {0, 10000000};
    for (int i = 0; i < 20; i++) {
        nanosleep(&pause, NULL);
        work();
    }
    printf("done\n");
    return 0;
}
