/* SPDX-License-Identifier: BSD-3-Clause */
/* Two OpenMP threads that wait for each other, and threads that wait for a lock and for each other's end. Prints the
   kind of each wait and its length in ns, as the program itself measures it. */
#include <omp.h>
#include "program.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long at[2], ended[2], got;
static int begun[2];

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void work(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, 0);
}

static void tell(const char *kind, long ns) { printf("%s %ld\n", kind, ns < 0 ? -ns : ns); }

static void *holder(void *name)
{
    if (name) work(50);
    long before = now();
    pthread_mutex_lock(&lock);
    if (name) got = now() - before;
    work(name ? 1 : 350);
    pthread_mutex_unlock(&lock);
    ended[name ? 1 : 0] = now();
    return name;
}

static void together(void)
{
    omp_lock_t own;
    omp_init_lock(&own);
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();
        work(me ? 300 : 0);
        at[me] = now();
#pragma omp barrier
#pragma omp master
        tell("omp_ebarrier_wait", at[1] - at[0]);
#pragma omp barrier
#pragma omp for schedule(dynamic, 1)
        for (int i = 0; i < 2; i++) {
            __atomic_store_n(&begun[i], 1, __ATOMIC_RELEASE);
            while (!__atomic_load_n(&begun[!i], __ATOMIC_ACQUIRE)) work(1); /* so that each thread takes one */
            work(i ? 400 : 100);
            at[omp_get_thread_num()] = now();
        }
#pragma omp master
        tell("omp_ibarrier_wait", at[1] - at[0]);
#pragma omp barrier
        work(me ? 100 : 0);
        at[me] = now();
#pragma omp critical
        {
            if (me) got = now() - at[1];
            work(me ? 0 : 300);
        }
#pragma omp barrier
#pragma omp master
        tell("omp_lock_contention_critical", got);
        work(me ? 100 : 0);
        at[me] = now();
        omp_set_lock(&own);
        if (me) got = now() - at[1];
        work(me ? 0 : 300);
        omp_unset_lock(&own);
#pragma omp barrier
#pragma omp single
        for (int i = 0; i < 3; i++) {
#pragma omp task
            work(250);
        }
    }
    tell("omp_lock_contention_api", got);
}

int main(void)
{
#pragma omp parallel num_threads(2)
    work(1); /* the second thread starts here */
    together();
    work(200); /* the second thread is idle */
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, holder, (void *)i);
    long joins[3] = {now()};
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], 0);
        joins[i + 1] = now();
    }
    tell("pthread_lock_contention_mutex_lock", got);
    tell("pthread_join_wait", ended[0] - joins[0]);
    return 0;
}
