/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of every kind in C, counted: main 1 -> nest 8 -> leaf 3 each; even(10) -> odd -> even ...: even 6, odd 5;
   ackermann(2, 3): 44; by pointer add 12, subtract 12; total, which is variadic, 7; qsort calls compare any number of
   times; known 6, by two names; absent, which is weak, 0; helper of this file 9; entry 5 (exact_lib.c); begins 1
   (constructor), ends 1 (destructor), last 1 (atexit). No call of these is a tail call, and no two are the same code.
   Compilers may inline, clone or split what is not marked KEEP: small, once, split, and the functions of exact.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "exact.h"
#include "keep.h"

static volatile int sink;

KEEP void known(void);
void alias_of_known(void) __attribute__((alias("known")));
void absent(void) __attribute__((weak));
void entry(int i);

static __attribute__((constructor)) KEEP void begins(void) { sink = 1; }

static __attribute__((destructor)) KEEP void ends(void) { sink = 2; }

static KEEP void last(void) { sink = 3; }

KEEP void known(void) { sink++; }

static KEEP void leaf(int i) { sink += clamp(i, 10); }

static KEEP void nest(int i)
{
    leaf(i);
    leaf(twice(i));
    leaf(i + 2);
    sink++;
}

static KEEP int odd(int n);

static KEEP int even(int n)
{
    int is = n == 0 || odd(n - 1);
    sink += is; /* no tail call */
    return is;
}

static KEEP int odd(int n)
{
    int is = n != 0 && even(n - 1);
    sink += is;
    return is;
}

KEEP int ackermann(int m, int n)
{
    int r = m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
    sink = r;
    return r;
}

static KEEP int add(int a, int b) { return a + b; }

static KEEP int subtract(int a, int b) { return a - b; }

static KEEP double total(int n, ...)
{
    va_list list;
    double sum = 0;
    va_start(list, n);
    for (int i = 0; i < n; i++) sum += i % 2 ? va_arg(list, double) : va_arg(list, int);
    va_end(list);
    return sum;
}

static KEEP int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static KEEP void helper(int i) { sink += i; }

static int small(int i) { return twice(i) - 1; }

static void once(int n)
{
    for (int i = 0; i < n; i++) helper(small(i));
}

/* gcc splits off the part after the test, and inlines the test. */
static int split(int *count, int i)
{
    if (i % 4) return i;
    for (int k = 0; k < 3; k++) {
        printf("%d ", small(i + k));
        (*count)++;
        sink += i;
    }
    helper(i);
    printf("%d\n", *count);
    return -1;
}

int main(void)
{
    static int (*volatile const by_pointer[])(int, int) = {add, subtract};
    int numbers[] = {1, 2, 3, 4}, count = 0;
    double sum = 0;
    atexit(last);
    for (int i = 0; i < 8; i++) nest(i);
    printf("%d ", even(10));
    printf("%d\n", ackermann(2, 3));
    for (int i = 0; i < 24; i++) sink += by_pointer[i % 2](i, 3);
    for (int i = 0; i < 7; i++) sum += total(4, i, 0.5, i, 0.25);
    qsort(numbers, 4, sizeof numbers[0], compare);
    for (int i = 0; i < 3; i++) {
        known();
        alias_of_known();
    }
    if (absent) absent();
    once(6);
    for (int i = 0; i < 12; i++) count += split(&count, i) < 0;
    for (int i = 0; i < 5; i++) entry(i);
    printf("%g %d %d\n", sum, sink, count);
    return 0;
}
