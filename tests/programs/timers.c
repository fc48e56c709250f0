// SPDX-License-Identifier: BSD-3-Clause
/* Two threads, each: 10 x step, which counts 100, 101 ... bytes and runs inner 2 x, which counts 1 byte and 2.5 flops.
   step also sets a temperature, which is not a count. idle counts nothing; again nests 3 deep, with 7 flops each. */
#include <pthread.h>
#include "vt_user.h"

static unsigned int bytes, flops, heat;

static void repeat(int depth)
{
    VT_USER_START("again");
    VT_COUNT_DOUBLE_VAL(flops, 7);
    if (depth > 1) repeat(depth - 1);
    VT_USER_END("again");
}

static void *work(void *unused)
{
    for (int i = 0; i < 10; i++) {
        VT_USER_START("step");
        VT_COUNT_UNSIGNED_VAL(bytes, 100u + (unsigned)i);
        VT_COUNT_DOUBLE_VAL(heat, 273.15);
        for (int j = 0; j < 2; j++) {
            VT_USER_START("inner");
            VT_COUNT_UNSIGNED_VAL(bytes, 1);
            VT_COUNT_DOUBLE_VAL(flops, 2.5);
            VT_USER_END("inner");
        }
        VT_USER_END("step");
    }
    VT_USER_START("idle");
    VT_USER_END("idle");
    repeat(3);
    return unused;
}

int main(void)
{
    pthread_t other;
    bytes = VT_COUNT_DEF("moved", "Bytes", VT_COUNT_TYPE_UNSIGNED, VT_COUNT_DEFGROUP);
    flops = VT_COUNT_DEF("done", "flop", VT_COUNT_TYPE_DOUBLE, VT_COUNT_DEFGROUP);
    heat = VT_COUNT_DEF("temperature", "K", VT_COUNT_TYPE_DOUBLE, VT_COUNT_DEFGROUP);
    if (pthread_create(&other, NULL, work, NULL)) return 1;
    work(NULL);
    return pthread_join(other, NULL);
}
