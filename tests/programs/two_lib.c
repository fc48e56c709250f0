/* SPDX-License-Identifier: BSD-3-Clause */
/* See two_a.c. */
#include "keep.h"

static volatile int sink;

static KEEP void lib_inner(int i) { sink += i; }

void lib_work(int i) { lib_inner(i); }
