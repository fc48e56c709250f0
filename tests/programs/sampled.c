/* SPDX-License-Identifier: BSD-3-Clause */
/* sampled ROUNDS THREADS: a round takes about 1 ms of CPU time on any processor. In each thread about three quarters of
   the CPU time belong to f, one quarter to g. Thread 1 and every second thread after it exchange the roles. Prints for
   each thread its CPU time and the part of f, in ns: equal loops may differ in speed by their places in memory. */
#include "program.h"

static int rounds;
static double pace = 1; /* turns of a loop in 1.25 ns */
static long long spent[64], of_f[64];

static long long cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* Some compilers make one function of equal ones. */
static volatile int which;

__attribute__((noinline)) void f(int n)
{
    which = 'f';
    for (volatile int i = 0; i < n; i++) continue;
}

__attribute__((noinline)) void g(int n)
{
    which = 'g';
    for (volatile int i = 0; i < n; i++) continue;
}

static void *work(void *number)
{
    long me = (long)number;
    const int few = (int)(200000 * pace), many = 3 * few;
    for (int i = 0; i < rounds; i++) {
        long long begin = cpu();
        f(me % 2 ? few : many);
        of_f[me] += cpu() - begin;
        g(me % 2 ? many : few);
    }
    spent[me] = cpu();
    return NULL;
}

__attribute__((noinline)) void *even(void *number)
{
    work(number);
    return NULL;
}

__attribute__((noinline)) void *odd(void *number)
{
    work(number);
    return number;
}

int main(int argc, char **argv)
{
    pthread_t threads[64];
    long n = atol(argv[2]);
    rounds = argc > 2 ? atoi(argv[1]) : 0;
    for (int i = 0; i < 3; i++) {
        const long long begin = cpu();
        f(100000);
        const double once = 125000.0 / (double)(cpu() - begin);
        pace = i && pace > once ? pace : once;
    }
    for (long i = 1; i < n; i++) pthread_create(&threads[i], NULL, i % 2 ? odd : even, (void *)i);
    even((void *)0);
    for (long i = 1; i < n; i++) pthread_join(threads[i], NULL);
    for (long i = 0; i < n; i++) printf("%lld %lld\n", spent[i], of_f[i]);
    return 0;
}
