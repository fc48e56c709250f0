/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs of threads with one property each: thread_plants PROPERTY [STEPS]. */
#include "work.h"

#include <pthread.h>
#include <string.h>

#define THREADS 2
#define BASE 10 /* ms of each thread and step in compute() */

static int steps = 20;

WORKER(compute)
WORKER(chemistry)

static void uneven(int thread) /* the last thread works twice as long */
{
    compute(BASE);
    if (thread == THREADS - 1) chemistry(BASE);
}

static void healthy(int thread)
{
    (void)thread;
    compute(BASE);
    chemistry(BASE);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t together;

__attribute__((noinline)) static void hold_lock(void)
{
    pthread_mutex_lock(&lock);
    chemistry(2 * BASE);
    pthread_mutex_unlock(&lock);
}

static void held_lock(int thread) /* the last thread works with a lock that the first needs after half of the time */
{
    pthread_barrier_wait(&together);
    if (thread == THREADS - 1) {
        hold_lock();
        return;
    }
    compute(BASE);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

static void (*one_step)(int thread);

static void *body(void *thread)
{
    for (int step = 0; step < steps; step++) one_step(*(int *)thread);
    return NULL;
}

int main(int argc, char **argv)
{
    one_step = argc > 1 && !strcmp(argv[1], "uneven_threads") ? uneven : healthy;
    if (argc > 1 && !strcmp(argv[1], "held_lock")) one_step = held_lock;
    if (argc > 2) steps = atoi(argv[2]);
    pthread_barrier_init(&together, NULL, THREADS);
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int n = 0; n < THREADS; n++) {
        numbers[n] = n;
        pthread_create(&threads[n], NULL, body, &numbers[n]);
    }
    for (int n = 0; n < THREADS; n++) pthread_join(threads[n], NULL);
    return 0;
}
