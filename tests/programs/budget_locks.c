/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks: each of two threads gets and releases a mutex of its own, nested in another one, inside of a function; every
   hundredth turn it holds its mutex for 0.1 ms, and gets one that both threads use. Arguments: turns. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t both = PTHREAD_MUTEX_INITIALIZER;
static long turns;
static volatile long sum;

struct own {
    pthread_mutex_t outer, inner;
    pthread_spinlock_t spin;
};

static void guarded(struct own *own)
{
    pthread_mutex_lock(&own->outer);
    pthread_mutex_lock(&own->inner);
    sum++;
    pthread_mutex_unlock(&own->inner);
    pthread_mutex_unlock(&own->outer);
    pthread_spin_lock(&own->spin);
    pthread_spin_unlock(&own->spin);
}

static void held_long(struct own *own)
{
    const struct timespec time = {.tv_nsec = 100000};
    pthread_mutex_lock(&own->outer);
    nanosleep(&time, NULL);
    pthread_mutex_unlock(&own->outer);
    pthread_mutex_lock(&both);
    nanosleep(&time, NULL);
    pthread_mutex_unlock(&both);
}

static void *work(void *unused)
{
    struct own own = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, 0};
    pthread_spin_init(&own.spin, PTHREAD_PROCESS_PRIVATE);
    for (long i = 0; i < turns; i++) {
        guarded(&own);
        if (i % 100 == 0) held_long(&own);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    turns = argc > 1 ? atol(argv[1]) : 1000;
    pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    return pthread_join(thread, NULL);
}
