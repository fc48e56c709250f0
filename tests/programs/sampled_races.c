/* SPDX-License-Identifier: BSD-3-Clause */
/* sampled_races LIBRARY: threads calculate, allocate and lock while others begin and end, and main loads and unloads a
   library and forks. The program has no data race of its own. */
#include "program.h"

#define THREADS 6
#define ROUNDS 8

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_run; /* else a thread may end before the next one begins, and give it its location */
static long total;

__attribute__((noinline)) long calculate(long n)
{
    volatile long sum = 0;
    for (long i = 0; i < n; i++) sum += i % 7;
    return sum;
}

__attribute__((noinline)) void step(void)
{
    char *memory = malloc(100);
    memory[0] = (char)calculate(20000);
    pthread_mutex_lock(&lock);
    total++;
    pthread_mutex_unlock(&lock);
    free(memory);
}

static void *work(void *unused)
{
    pthread_barrier_wait(&all_run);
    for (int i = 0; i < 60; i++) step();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_barrier_init(&all_run, NULL, THREADS + 1);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, NULL);
        void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
        work(NULL);
        if (library) dlclose(library);
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
        pid_t child = fork();
        if (!child) {
            calculate(1000);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    printf("%ld\n", total);
    return 0;
}
