/* SPDX-License-Identifier: BSD-3-Clause */
/* 20 steps of 40 ms; steps 12 to 14 take 200 ms more in write_out. Prints the ns in write_out. */
#include "vt_user.h"

#include "program.h"

#define WAIT(ms) nanosleep(&(struct timespec){0, (ms) * 1000000L}, 0)

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static long write_out(void)
{
    long before = now();
    VT_USER_START("write_out");
    WAIT(200);
    VT_USER_END("write_out");
    return now() - before;
}

int main(void)
{
    long all = 0;
    for (int i = 0; i < 20; i++) {
        VT_USER_START("step");
        WAIT(40);
        if (i >= 12 && i < 15) all += write_out();
        VT_USER_END("step");
    }
    printf("%ld\n", all);
    return 0;
}
