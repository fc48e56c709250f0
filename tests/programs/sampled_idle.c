/* SPDX-License-Identifier: BSD-3-Clause */
/* sampled_idle: two threads calculate and sleep. Prints for each, main first, the ns between its start and its end in
   which it had no processor; main's end is before it joins the other one. */
#include "program.h"

static volatile double sink;

static long long now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Calculates for some ms of CPU time, then sleeps for some ms. Returns the ns without a processor. */
static long long live(long calculate, long rest)
{
    const long long wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
    while (now(CLOCK_THREAD_CPUTIME_ID) - cpu < calculate * 1000000ll)
        for (int i = 0; i < 1000; i++) sink = 1 / (sink + i + 1);
    nanosleep(&(struct timespec){rest / 1000, rest % 1000 * 1000000}, NULL);
    return now(CLOCK_MONOTONIC) - wall - (now(CLOCK_THREAD_CPUTIME_ID) - cpu);
}

static void *other(void *result)
{
    *(long long *)result = live(300, 900);
    return NULL;
}

int main(void)
{
    long long idle[2];
    pthread_t thread;
    pthread_create(&thread, NULL, other, &idle[1]);
    idle[0] = live(500, 300);
    pthread_join(thread, NULL);
    printf("%lld\n%lld\n", idle[0], idle[1]);
    return 0;
}
