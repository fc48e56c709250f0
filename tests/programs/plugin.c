/* SPDX-License-Identifier: BSD-3-Clause */
/* A library for loader.c: entry -> NAME 2 (NAME is given on the command line). */
#include "keep.h"

static volatile int sink;

KEEP void NAME(int i) { sink += i; }

void entry(int i)
{
    NAME(i);
    NAME(i);
}
