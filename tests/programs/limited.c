/* SPDX-License-Identifier: BSD-3-Clause */
/* limited: regions of the user API for limits. On each of 2 threads, one after the other: 50 times "loop" with "inner"
   inside, 4 times "deep" 5 levels deep, 10 times "grouped" of the group PHYSICS. */
#define VTRACE
#include "vt_user.h"
#include "program.h"

static unsigned grouped;

static QUIET void deep(int levels)
{
    VT_USER_START("deep");
    if (levels > 1) deep(levels - 1);
    VT_USER_END("deep");
}

static QUIET void *body(void *unused)
{
    for (int i = 0; i < 50; i++) {
        VT_USER_START("loop");
        VT_USER_START("inner");
        VT_USER_END("inner");
        VT_USER_END("loop");
    }
    for (int i = 0; i < 4; i++) deep(5);
    for (int i = 0; i < 10; i++) {
        VT_USER_START2(grouped);
        VT_USER_END2(grouped);
    }
    VT_USER_END2(-1); /* numbers that were never returned */
    VT_USER_START2(-2);
    return unused;
}

QUIET int main(void)
{
    pthread_t thread;
    grouped = VT_USER_DEF("grouped", "PHYSICS", __FILE__, __LINE__);
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread, 0, body, 0);
        pthread_join(thread, 0);
    }
    puts("done");
    return 0;
}
