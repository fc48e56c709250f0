/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs of threads with one property each: thread_plants PROPERTY [STEPS [THREADS [MS]]]. */
#include "work.h"

#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#define MOST 16
#define BASE 10 /* ms of each thread and step in compute() */

static int steps = 20, count = 2;
static double ms = 10; /* of the longer work of a step */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t full = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t meeting;
static sem_t tasks;
static int queued;

WORKER(compute)
WORKER(chemistry)
WORKER(produce)

static void uneven_threads(int thread) /* the last thread works longer */
{
    compute(BASE);
    if (thread == count - 1) chemistry(ms);
}

static void at_thread_barrier(int thread)
{
    uneven_threads(thread);
    pthread_barrier_wait(&meeting);
}

static void one_mutex(int thread) /* everybody works with the lock */
{
    (void)thread;
    compute(BASE);
    pthread_mutex_lock(&mutex);
    chemistry(ms);
    pthread_mutex_unlock(&mutex);
}

static void one_holder(int thread) /* the first thread holds the lock long, the others need it for a moment */
{
    if (thread) compute(BASE);
    pthread_mutex_lock(&mutex);
    if (!thread) chemistry(BASE + ms);
    pthread_mutex_unlock(&mutex);
    if (!thread) compute(1);
}

__attribute__((noinline)) static void hold_lock(void)
{
    pthread_mutex_lock(&mutex);
    chemistry(BASE + ms);
    pthread_mutex_unlock(&mutex);
}

static void held_lock(int thread) /* the last thread works with a lock that the others need after half of the time */
{
    pthread_barrier_wait(&meeting);
    if (thread == count - 1) {
        hold_lock();
        return;
    }
    compute(BASE);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

/* The first thread produces, the others take: too few tasks for a pool. */
static void starved_pool(int thread)
{
    if (!thread) {
        for (int i = 1; i < count; i++) {
            produce(BASE + ms);
            pthread_mutex_lock(&mutex);
            queued++;
            pthread_cond_signal(&full);
            pthread_mutex_unlock(&mutex);
        }
        return;
    }
    pthread_mutex_lock(&mutex);
    while (!queued) pthread_cond_wait(&full, &mutex);
    queued--;
    pthread_mutex_unlock(&mutex);
    compute(BASE);
}

static void starved_semaphore(int thread) /* the same by a semaphore */
{
    for (int i = 1; !thread && i < count; i++) {
        produce(BASE + ms);
        sem_post(&tasks);
    }
    if (!thread) return;
    sem_wait(&tasks);
    compute(BASE);
}

static void healthy_threads(int thread)
{
    (void)thread;
    compute(BASE);
    chemistry(ms);
}

static void healthy_thread_barrier(int thread)
{
    healthy_threads(thread);
    pthread_barrier_wait(&meeting);
}

static void healthy_mutex(int thread)
{
    healthy_threads(thread);
    pthread_mutex_lock(&mutex);
    queued++;
    pthread_mutex_unlock(&mutex);
}

#define PROPERTY(name) {#name, name}
static const struct {
    const char *name;
    void (*one_step)(int thread);
} properties[] = {
    PROPERTY(uneven_threads),  PROPERTY(at_thread_barrier), PROPERTY(one_mutex),
    PROPERTY(one_holder),      PROPERTY(held_lock),         PROPERTY(starved_pool),
    PROPERTY(healthy_threads), PROPERTY(healthy_mutex),     PROPERTY(healthy_thread_barrier),
    PROPERTY(starved_semaphore),
};

static void (*one_step)(int thread);

static void *body(void *thread)
{
    for (int step = 0; step < steps; step++) one_step(*(int *)thread);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc > 2) steps = atoi(argv[2]);
    if (argc > 3) count = atoi(argv[3]);
    if (argc > 4) ms = atof(argv[4]);
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (!strcmp(argv[1], properties[i].name)) one_step = properties[i].one_step;
    pthread_t threads[MOST];
    int numbers[MOST];
    sem_init(&tasks, 0, 0);
    pthread_barrier_init(&meeting, NULL, (unsigned)count);
    for (int n = 0; n < count; n++) {
        numbers[n] = n;
        pthread_create(&threads[n], NULL, body, &numbers[n]);
    }
    for (int n = 0; n < count; n++) pthread_join(threads[n], NULL);
    return 0;
}
