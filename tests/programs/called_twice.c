/* SPDX-License-Identifier: BSD-3-Clause */
/* Two functions call leaf; a second thread calls one of them. */
#include <pthread.h>

#define OUTLINE __attribute__((noinline))
#define TURNS 40000000

static OUTLINE double leaf(long n)
{
    double x = 1;
    while (n--) x = x * 1.0000001 + 1e-9;
    return x;
}

static OUTLINE double one(long n)
{
    double x = leaf(n);
    __asm__ volatile("" : "+m"(x)); /* no tail call */
    return x;
}

static OUTLINE double two(long n)
{
    double x = leaf(2 * n);
    __asm__ volatile("" : "+m"(x));
    return x;
}

static void *work(void *unused)
{
    double x = one(TURNS);
    return x < 0 ? unused : 0;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    double x = one(TURNS) + two(TURNS);
    pthread_join(thread, 0);
    return x < 0;
}
