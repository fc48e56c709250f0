/* SPDX-License-Identifier: BSD-3-Clause */
/* Two threads that compute on one processor. Each prints, in ns, how long it has waited for the processor, as the kernel
   counts, its CPU time, and how much of the waiting was before its function began. */
#define _GNU_SOURCE
#include <sched.h>
#include "program.h"

#define CPU_NS 300000000

static int64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t waited(void)
{
    char text[96] = "";
    int fd = open("/proc/thread-self/schedstat", O_RDONLY);
    long n = read(fd, text, sizeof text - 1);
    close(fd);
    return n > 0 ? atoll(strchr(text, ' ')) : -1;
}

static void *compute(void *times)
{
    ((int64_t *)times)[2] = waited();
    while (now(CLOCK_THREAD_CPUTIME_ID) < CPU_NS) continue;
    ((int64_t *)times)[0] = waited();
    ((int64_t *)times)[1] = now(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    int64_t times[2][3];
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    sched_setaffinity(0, sizeof set, &set);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, compute, times[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++)
        printf("%lld %lld %lld\n", (long long)times[i][0], (long long)times[i][1], (long long)times[i][2]);
    return 0;
}
