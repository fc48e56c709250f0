/* SPDX-License-Identifier: BSD-3-Clause */
/* locking TURNS: two threads alternate. Each waits TURNS times, with a condition variable, until the number is its own,
   and adds 1. Meanwhile main holds a recursive mutex three times, tries one that is held, and uses a C11 mutex, a
   read-write lock, a spin lock and semaphores. All three meet at a barrier at the end. Prints the number. */
#define _GNU_SOURCE
#include <semaphore.h>
#include <threads.h>
#include "program.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t end;
static long number, turns;

static QUIET void *body(void *argument)
{
    long mine = argument != NULL;
    for (long i = 0; i < turns; i++) {
        pthread_mutex_lock(&mutex);
        while (number % 2 != mine) pthread_cond_wait(&changed, &mutex);
        number++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
    }
    pthread_barrier_wait(&end);
    return NULL;
}

static sem_t semaphore;

static QUIET void on_signal(int number) { if (number) sem_post(&semaphore); }

/* Returns 0 if every call had the expected result. */
static QUIET int others(void)
{
    const struct timespec past = {1, 0};
    pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
    pthread_spinlock_t spin;
    if (pthread_rwlock_rdlock(&shared) || pthread_rwlock_clockrdlock(&shared, CLOCK_MONOTONIC, &past) ||
        pthread_rwlock_trywrlock(&shared) != EBUSY || pthread_rwlock_unlock(&shared) || pthread_rwlock_unlock(&shared))
        return 1;
    if (pthread_rwlock_wrlock(&shared) || pthread_rwlock_tryrdlock(&shared) != EBUSY || pthread_rwlock_unlock(&shared) ||
        pthread_rwlock_clockwrlock(&shared, CLOCK_MONOTONIC, &past) || pthread_rwlock_unlock(&shared))
        return 2;
    if (pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) || pthread_spin_lock(&spin) ||
        pthread_spin_trylock(&spin) != EBUSY || pthread_spin_unlock(&spin) || pthread_spin_trylock(&spin) ||
        pthread_spin_unlock(&spin))
        return 3;
    signal(SIGUSR1, on_signal);
    if (sem_init(&semaphore, 0, 1) || sem_wait(&semaphore) || sem_trywait(&semaphore) != -1 || errno != EAGAIN ||
        sem_timedwait(&semaphore, &past) != -1 || errno != ETIMEDOUT ||
        sem_clockwait(&semaphore, CLOCK_MONOTONIC, &past) != -1 || errno != ETIMEDOUT || raise(SIGUSR1) ||
        sem_wait(&semaphore))
        return 4;
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    pthread_mutexattr_t attributes;
    pthread_mutex_t recursive;
    mtx_t c11;
    turns = argc > 1 ? atol(argv[1]) : 1;
    pthread_barrier_init(&end, NULL, 3);
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, body, i ? &end : NULL);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &attributes);
    for (int i = 0; i < 3; i++) pthread_mutex_lock(&recursive);
    for (int i = 0; i < 3; i++) pthread_mutex_unlock(&recursive);
    if (pthread_mutex_trylock(&plain) || pthread_mutex_trylock(&plain) != EBUSY || pthread_mutex_unlock(&plain)) return 1;
    if (mtx_init(&c11, mtx_plain) != thrd_success || mtx_lock(&c11) != thrd_success || mtx_unlock(&c11)) return 1;
    int wrong = others();
    if (wrong) return 10 + wrong;
    pthread_barrier_wait(&end);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%ld\n", number);
    return 0;
}
