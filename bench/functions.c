/* SPDX-License-Identifier: BSD-3-Clause */
/* functions CALLS PASSES [exe|lib|both] [THREADS]: each thread calls a tiny function CALLS times, in PASSES passes. The
   function is in the executable, in a shared library (functions_lib.c), or alternately in both. Prints the ns per call
   of each pass. Compiled with vtrace's hooks, with those of floor.c, and without hooks. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PLAIN __attribute__((no_instrument_function))
#define THREADS 64
#define PASSES 1024

long lib_tiny(long x);

__attribute__((noinline)) long exe_tiny(long x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

static long calls, passes;
static char where;
static pthread_barrier_t barrier;
static double times[THREADS][PASSES];

static PLAIN double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static PLAIN long loop(void)
{
    long x = 0;
    if (where == 'e')
        for (long i = 0; i < calls; i++) x = exe_tiny(x);
    else if (where == 'l')
        for (long i = 0; i < calls; i++) x = lib_tiny(x);
    else
        for (long i = 0; i < calls; i += 2) x = lib_tiny(exe_tiny(x));
    return x;
}

static PLAIN void *body(void *number)
{
    double *mine = times[(long)number];
    for (long p = 0; p < passes && p < PASSES; p++) {
        pthread_barrier_wait(&barrier);
        double begin = now();
        if (loop() < calls) abort();
        mine[p] = (now() - begin) / (double)calls;
    }
    return NULL;
}

PLAIN int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    long n = argc > 4 ? atol(argv[4]) : 1;
    calls = argc > 1 ? atol(argv[1]) : 1000000;
    passes = argc > 2 ? atol(argv[2]) : 1;
    where = argc > 3 ? argv[3][0] : 'e';
    if (n < 1 || n > THREADS || passes < 1 || passes > PASSES) return 2;
    pthread_barrier_init(&barrier, NULL, (unsigned)n);
    for (long i = 1; i < n; i++) pthread_create(&threads[i], NULL, body, (void *)i);
    body((void *)0L);
    for (long i = 1; i < n; i++) pthread_join(threads[i], NULL);
    for (long p = 0; p < passes; p++) {
        double sum = 0;
        for (long i = 0; i < n; i++) sum += times[i][p];
        printf("%.3f\n", sum / (double)n);
    }
    return 0;
}
