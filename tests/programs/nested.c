/* SPDX-License-Identifier: BSD-3-Clause */
/* Nested and recursive functions, one of them static.
   main 1 -> step 10 -> leaf 2 each; main -> fib(10): 177 calls, 176 of them from fib. 208 calls in all. */
#include "keep.h"

static volatile int sink;

static KEEP void leaf(int i) { sink += i; }

KEEP void step(int i)
{
    leaf(i);
    leaf(i + 1);
    sink++; /* keeps the compiler from turning the second call into a jump */
}

KEEP int fib(int n)
{
    if (n < 2) return n;
    int a = fib(n - 1), b = fib(n - 2);
    sink = b; /* keeps the compiler from turning the second call into a loop */
    return a + b;
}

int main(void)
{
    for (int i = 0; i < 10; i++) step(i);
    return fib(10) != 55;
}
