/* SPDX-License-Identifier: BSD-3-Clause */
/* A function in a shared library, for functions.c. */
long lib_tiny(long x);

__attribute__((noinline)) long lib_tiny(long x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}
