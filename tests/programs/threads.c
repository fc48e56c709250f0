/* SPDX-License-Identifier: BSD-3-Clause */
/* threads together|after THREADS CALLS: main 1 -> work CALLS; each thread: body 1 -> work CALLS. together: all threads
   exist at the same time (they meet at a barrier); after: one ends before the next begins. */
#include "program.h"

#define MAX_THREADS 2048

static volatile long sink;
static long calls;
static int together;
static pthread_barrier_t meeting;

KEEP void work(long i) { sink = i; }

KEEP void *body(void *unused)
{
    for (long i = 0; i < calls; i++) work(i);
    if (together) pthread_barrier_wait(&meeting);
    return unused;
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    pthread_t threads[MAX_THREADS];
    int n = atoi(argv[2]) < MAX_THREADS ? atoi(argv[2]) : MAX_THREADS;
    together = !strcmp(argv[1], "together");
    calls = atol(argv[3]);
    if (together) pthread_barrier_init(&meeting, 0, (unsigned)n + 1);
    for (int i = 0; i < n; i++) {
        if (pthread_create(&threads[i], 0, body, 0)) return 1;
        if (!together) pthread_join(threads[i], 0);
    }
    for (long i = 0; i < calls; i++) work(i);
    if (together) {
        pthread_barrier_wait(&meeting);
        for (int i = 0; i < n; i++) pthread_join(threads[i], 0);
    }
    return 0;
}
