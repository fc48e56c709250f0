/* SPDX-License-Identifier: BSD-3-Clause */
/* Nested and recursive functions, one of them static.
   main 1 -> step 10 -> leaf 2 each; main -> fib(10): 177 calls, 176 of them from fib. 208 calls in all. */
#include "keep.h"

static volatile int sink;

static KEEP void leaf(int i)
{
    sink += i;
}

KEEP void step(int i)
{
    leaf(i);
    leaf(i + 1);
}

KEEP int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(void)
{
    for (int i = 0; i < 10; i++)
        step(i);
    return fib(10) != 55;
}
