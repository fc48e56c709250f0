/* SPDX-License-Identifier: BSD-3-Clause */
/* user_ids: uses the ids that it has defined once each, and many that it has not. */
#include <stdio.h>
#include "vt_user.h"

static void use(unsigned int id)
{
    VT_USER_START2(id);
    VT_USER_END2(id);
    VT_MARKER(id, "text");
    VT_MSG_SEND(id, 1, 8);
    VT_MSG_RECV(id, 1, 8);
    VT_COUNT_UNSIGNED_VAL(id, 7);
    VT_COUNT_SIGNED_VAL(id, 7);
    VT_COUNT_DOUBLE_VAL(id, 7.5);
#ifdef VTRACE
    VT_User_section_start2__(id, 0);
    VT_User_section_stop2__(id, 0);
#endif
}

int main(void)
{
    const unsigned int region = VT_USER_DEF("region", "", "", 0), marker = VT_MARKER_DEF("marker", VT_MARKER_TYPE_HINT),
                       comm = VT_MSG_COMM_DEF("comm"), count = VT_COUNT_DEF("count", "", VT_COUNT_TYPE_UNSIGNED, 0);
    VT_USER_START2(region);
    VT_MARKER(marker, "at the begin");
    VT_MSG_SEND(comm, 1, 8);
    VT_MSG_RECV(comm, 1, 8);
    VT_COUNT_UNSIGNED_VAL(count, 7);
    for (unsigned int bit = 1u << 10; bit; bit <<= 1)
        for (unsigned int i = 0; i < 40; i++) use(i ? bit + 100 + i : bit - 1);
    VT_USER_END2(region);
    puts("done");
    return 0;
}
