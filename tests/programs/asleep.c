/* SPDX-License-Identifier: BSD-3-Clause */
/* asleep: two threads that sleep ten times, one in nanosleep, one in a futex. Each prints, in ns, how long its function
   took, its CPU time there, and how long it waited for a processor until its end, as the kernel counts. asleep only: only the
   main thread sleeps, in nanosleep, and computes then. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sys/syscall.h>
#include "program.h"

#define TIMES 10

struct times {
    int64_t passed, cpu, waited;
};

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

static const struct timespec moment = {0, 30000000};

__attribute__((noinline)) static void rest(void)
{
    nanosleep(&moment, NULL);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

__attribute__((noinline)) static void wait_for_nobody(void)
{
    static int word;
    syscall(SYS_futex, &word, FUTEX_WAIT, 0, &moment, NULL, 0);
    __asm__ volatile("" ::: "memory");
}

static void count(struct times *t, int64_t sign)
{
    t->passed += sign * now(CLOCK_MONOTONIC);
    t->cpu += sign * now(CLOCK_THREAD_CPUTIME_ID);
    t->waited = waited();
}

static void *sleeps(void *times)
{
    count(times, -1);
    for (int i = 0; i < TIMES; i++) rest();
    count(times, 1);
    return NULL;
}

static void *waits(void *times)
{
    count(times, -1);
    for (int i = 0; i < TIMES; i++) wait_for_nobody();
    count(times, 1);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    struct times times[2] = {{0, 0, 0}, {0, 0, 0}};
    (void)argv;
    if (argc > 1) {
        sleeps(&times[0]);
        const int64_t begin = now(CLOCK_THREAD_CPUTIME_ID); /* vtrace run may have used some before */
        while (now(CLOCK_THREAD_CPUTIME_ID) - begin < 100000000) continue;
        return 0;
    }
    pthread_create(&threads[0], NULL, sleeps, &times[0]);
    pthread_create(&threads[1], NULL, waits, &times[1]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++)
        printf("%lld %lld %lld\n", (long long)times[i].passed, (long long)times[i].cpu, (long long)times[i].waited);
    return 0;
}
