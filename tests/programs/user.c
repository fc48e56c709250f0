// SPDX-License-Identifier: BSD-3-Clause
// Each macro of the user API, as C and as C++ (user.cc includes this file).
#include "vt_user.h"
#include "program.h"

static void counters(void)
{
    unsigned int group = VT_COUNT_GROUP_DEF("weather"), deep = VT_COUNT_DEFGROUP;
    unsigned int i = VT_COUNT_DEF("level", "m", VT_COUNT_TYPE_SIGNED, group);
    unsigned int u = VT_COUNT_DEF("rain", "drops", VT_COUNT_TYPE_UNSIGNED, group);
    unsigned int f = VT_COUNT_DEF("wind", "m/s", VT_COUNT_TYPE_FLOAT, VT_COUNT_DEFGROUP);
    unsigned int d = VT_COUNT_DEF("heat", "", VT_COUNT_TYPE_DOUBLE, deep);
    VT_COUNT_SIGNED_VAL(i, -3);
    VT_COUNT_UNSIGNED_VAL(u, 18446744073709551615ull);
    VT_COUNT_FLOAT_VAL(f, 0.5f);
    VT_COUNT_DOUBLE_VAL(d, -1e300);
    VT_COUNT_DOUBLE_VAL(i, -2.75);
    VT_COUNT_SIGNED_VAL(d, 7);
    VT_UPDATE_COUNTER();
    (void)group, (void)deep, (void)i, (void)u, (void)f, (void)d;
}

static void remarks(void)
{
    unsigned int error = VT_MARKER_DEF("breaks", VT_MARKER_TYPE_ERROR);
    unsigned int warning = VT_MARKER_DEF("bends", VT_MARKER_TYPE_WARNING);
    unsigned int hint = VT_MARKER_DEF("steps", VT_MARKER_TYPE_HINT);
    VT_COMMENT_DEF("on a Monday");
    VT_COMMENT("half way");
    VT_MARKER(error, "it broke");
    VT_MARKER(warning, "it bent");
    for (int i = 0; i < 3; i++) VT_MARKER(hint, "it went");
    (void)error, (void)warning, (void)hint;
}

static void messages(void)
{
    unsigned int queue = VT_MSG_COMM_DEF("queue");
    VT_MSG_SEND(queue, 5, 80);
    VT_SEND(VT_COMM_WORLD, 6, 90);
    VT_MSG_RECV(queue, 5, 80);
    VT_RECV(VT_MSG_DEFCOMM, 6, 90);
    (void)queue;
}

static void inner(const char *name)
{
    VT_USER_START(name);
    VT_USER_END(name);
}

int main(void)
{
    char name[8] = "made up";
    unsigned int id = VT_USER_DEF("given", "phases", "given.f", 77), other = VT_USER_DEF("plain", NULL, NULL, 0);
    for (int i = 0; i < 2; i++) {
        VT_USER_START("loop");
        VT_USER_START2(id);
        VT_USER_START2(other);
        VT_USER_END2(other);
        VT_USER_END2(id);
        VT_USER_END("loop");
    }
    inner(name);
    inner("second");
    if (VT_IS_ON() != 1) puts("not on");
    VT_OFF();
    printf("%d\n", VT_IS_ON());
    VT_USER_START("unseen");
    VT_USER_END("unseen");
    VT_ON();
    counters();
    remarks();
    messages();
    VT_BUFFER_FLUSH();
    VT_TIMESYNC();
    VT_SET_REWIND_MARK();
    VT_USER_START("discarded");
    VT_USER_END("discarded");
    VT_REWIND();
    (void)id, (void)other, (void)name;
    return 0;
}
