/* SPDX-License-Identifier: BSD-3-Clause */
/* See two_a.c. */
#include "keep.h"

void lib_work(int i);

static volatile int sink;

static KEEP void helper(int i) { sink -= i; }

KEEP void far(int i)
{
    helper(i);
    lib_work(i);
    lib_work(i);
}
