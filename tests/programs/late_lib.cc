/* SPDX-License-Identifier: BSD-3-Clause */
/* A library for late.c: entry -> late::inner 1. */
#include "keep.h"

static volatile int sink;

namespace late
{
KEEP void inner(int i) { sink = sink + i; }
} // namespace late

extern "C" void entry(int i) { late::inner(i); }
