/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls tiny functions much more often than tracing can afford, in one of several ways; TURNS times:
     storm      main calls tiny 1000 times
     nested     outer calls middle 10 times, which calls tiny 100 times
     recursive  deep(9), which calls itself twice, with tiny at the bottom
     threads    3 threads do as nested
     forks      as storm, with 2 children that do the same after half of the turns
     switched   as storm, with recording off in each second turn (-DVTRACE)
     phases     2000 storms in the first turn, else work in `calm` for 0.3 s of CPU time
     calm       work in `calm` for 1 ms of CPU time
   Prints the ns of CPU time for each call of tiny in the last half of the turns. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef VTRACE
#include "vt_user.h"
#else
#define VT_ON()
#define VT_OFF()
#endif

#define KEPT __attribute__((noinline, noclone))

static _Thread_local volatile unsigned sum;
static long turns;

static inline double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

KEPT void tiny(unsigned n)
{
    n += sum; /* each call waits for the one before */
    for (unsigned i = 0; i < 3; i++) n = (n ^ n >> 15) * 1664525u;
    sum = n;
}

KEPT void middle(unsigned n)
{
    for (unsigned i = 0; i < 100; i++) tiny(n + i);
    sum++;
}

KEPT void outer(unsigned n)
{
    for (unsigned i = 0; i < 10; i++) middle(n + i);
    sum++;
}

KEPT void storm(unsigned n)
{
    for (unsigned i = 0; i < 1000; i++) tiny(n + i);
}

KEPT void deep(unsigned left)
{
    if (!left) {
        tiny(left);
        return;
    }
    deep(left - 1);
    deep(left - 1);
    sum++;
}

KEPT void calm(double seconds)
{
    const double end = cpu() + seconds;
    while (cpu() < end) sum++;
}

static void turn(const char *how, unsigned i)
{
    if (!strcmp(how, "storm") || !strcmp(how, "forks")) storm(i);
    else if (!strcmp(how, "recursive")) deep(9);
    else if (!strcmp(how, "calm")) calm(0.001);
    else if (!strcmp(how, "switched")) {
        if (i % 2) VT_OFF();
        storm(i);
        if (i % 2) VT_ON();
    } else if (strcmp(how, "phases")) outer(i);
    else if (i) calm(0.3);
    else
        for (unsigned j = 0; j < 2000; j++) storm(j);
}

static void *repeat(void *how)
{
    double half = 0;
    for (long i = 0; i < turns; i++) {
        if (i == turns / 2) {
            half = cpu();
            if (!strcmp(how, "forks") && fork() && fork()) wait(NULL), wait(NULL);
        }
        turn(how, (unsigned)i);
    }
    printf("%.3f\n", (cpu() - half) * 2e9 / ((double)turns * 1000));
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[3];
    if (argc < 3) return 2;
    turns = atol(argv[2]);
    if (strcmp(argv[1], "threads")) {
        repeat(argv[1]);
        return 0;
    }
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, repeat, argv[1]);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    return 0;
}
