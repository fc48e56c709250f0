/* SPDX-License-Identifier: BSD-3-Clause */
/* memory PAIRS THREADS PASSES: prints the ns per call of malloc or free, the best of PASSES. Each of THREADS threads
   makes PAIRS pairs. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long pairs, passes;
static pthread_barrier_t together;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *work(void *best)
{
    double *least = best;
    for (int pass = 0; pass < passes; pass++) {
        pthread_barrier_wait(&together);
        double begin = now();
        for (long i = 0; i < pairs; i++) {
            void *volatile block = malloc(100);
            free(block);
        }
        double cost = (now() - begin) / (2.0 * (double)pairs);
        if (!pass || cost < *least) *least = cost;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[64];
    double least[64], sum = 0;
    int threads = argc > 2 ? atoi(argv[2]) : 1;
    if (argc < 2 || threads < 1 || threads > 64) return 2;
    pairs = atol(argv[1]);
    passes = argc > 3 ? atol(argv[3]) : 12;
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    for (int i = 1; i < threads; i++) pthread_create(&thread[i], NULL, work, &least[i]);
    work(&least[0]);
    for (int i = 1; i < threads; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < threads; i++) sum += least[i];
    printf("%f\n", sum / threads);
    return 0;
}
