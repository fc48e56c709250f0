/* SPDX-License-Identifier: BSD-3-Clause */
/* With two_b.c and two_lib.c (a shared library): functions in several files and modules, two with the same name. main 1
   -> near 3 -> helper 1 each (this file); main -> far 5 -> helper 1 (two_b.c) and lib_work 2 each; lib_work 10 ->
   lib_inner 1 each. helper of this file runs 3 times, that of two_b.c 5 times. */
#include "keep.h"

void far(int i);

static volatile int sink;

static KEEP void helper(int i) { sink += i; }

static KEEP void near(int i) { helper(i); }

int main(void)
{
    for (int i = 0; i < 3; i++) near(i);
    for (int i = 0; i < 5; i++) far(i);
    return 0;
}
