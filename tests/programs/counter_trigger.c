/* SPDX-License-Identifier: BSD-3-Clause */
/* TURNS times a user region "turn" and the counter "queue length", which is 5000 at turn HIGH and the next, else 1. */
#include <stdlib.h>
#include "vt_user.h"

int main(int argc, char **argv)
{
    const long turns = argc > 2 ? atol(argv[1]) : 1, high = argc > 2 ? atol(argv[2]) : 0;
    const unsigned queue = VT_COUNT_DEF("queue length", "#", VT_COUNT_TYPE_SIGNED, VT_COUNT_DEFGROUP);
    for (long i = 1; i <= turns; i++) {
        VT_USER_START("turn");
        VT_COUNT_SIGNED_VAL(queue, i == high || i == high + 1 ? 5000 : 1);
        VT_USER_END("turn");
    }
    return 0;
}
