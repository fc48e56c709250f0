/* SPDX-License-Identifier: BSD-3-Clause */
/* A part of exact.c or a plug-in of loader.c: entry 1 -> lib_step 4 -> lib_leaf 2 each. A constructor lib_begin 1 and a
   destructor lib_end 1 per load. lib_small and the functions of exact.h may be inlined. */
#include "exact.h"
#include "keep.h"

static volatile int sink;

KEEP void lib_leaf(int i);
KEEP void lib_step(int i);
void entry(int i);

static __attribute__((constructor)) KEEP void lib_begin(void) { sink = 1; }

static __attribute__((destructor)) KEEP void lib_end(void) { sink = 2; }

static int lib_small(int i) { return twice(i) + clamp(i, 3); }

KEEP void lib_leaf(int i) { sink += lib_small(i); }

KEEP void lib_step(int i)
{
    lib_leaf(i);
    sink += lib_small(i + 1);
    lib_leaf(-i);
    sink++;
}

KEEP void entry(int i)
{
    for (int k = 0; k < 4; k++) lib_step(i + k);
    sink--;
}
