/* SPDX-License-Identifier: BSD-3-Clause */
/* With two_b.c and two_lib.c (a shared library): functions in several files and modules, two of them of one name.
   main 1 -> near 3 -> helper 1 each (here); main -> far 5 -> helper 1 (two_b.c) and lib_work 2 each;
   lib_work 10 -> lib_inner 1 each. helper is 3 times this file's and 5 times the other's. */
#include "keep.h"

void far(int i);

static volatile int sink;

static KEEP void helper(int i)
{
    sink += i;
}

static KEEP void near(int i)
{
    helper(i);
}

int main(void)
{
    for (int i = 0; i < 3; i++)
        near(i);
    for (int i = 0; i < 5; i++)
        far(i);
    return 0;
}
