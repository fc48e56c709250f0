/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs with one property each, whose functions are small and mostly inlined: inlined_plants PROPERTY. They sleep. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define THREADS 4
#define STEPS 12

static inline void nap(double ms)
{
    const struct timespec time = {0, (long)(1e6 * ms)};
    nanosleep(&time, NULL);
}

/* ---- OpenMP ---- */

static void grid(void) { nap(15); }
static void chemistry(void) { nap(15); }
static void physics(void) { nap(45); }

static void third_section(void)
{
#pragma omp parallel sections
    {
#pragma omp section
        grid();
#pragma omp section
        chemistry();
#pragma omp section
        physics();
    }
}

static void read_input(void) { nap(25); }

static void input_in_single(void)
{
#pragma omp parallel
    for (int part = 0; part < 2; part++) {
#pragma omp single
        read_input();
        nap(15);
#pragma omp barrier
    }
}

static void block(int number) { nap(number == 5 ? 60 : 10); }

static void one_long_block(void)
{
#pragma omp parallel
#pragma omp single
    for (int number = 0; number < 8; number++) {
#pragma omp task firstprivate(number)
        block(number);
    }
}

static void tile(void) { nap(40); }

static void too_few_tiles(void)
{
#pragma omp parallel for
    for (int number = 0; number < THREADS / 2; number++) tile();
}

static double total;

static void merge(double value)
{
    nap(4);
    total += value;
}

static void merge_in_critical(void)
{
#pragma omp parallel for schedule(static)
    for (int row = 0; row < 4 * THREADS; row++) {
        nap(4);
#pragma omp critical(sum)
        merge(row);
    }
}

static void healthy_single(void) /* and the tasks are as long as each other */
{
#pragma omp parallel
    {
        nap(20);
#pragma omp single
        for (int number = 0; number < 2 * THREADS; number++) {
#pragma omp task
            tile();
        }
    }
}

/* ---- threads ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static int queued;

static void log_line(void)
{
    pthread_mutex_lock(&mutex);
    nap(6);
    pthread_mutex_unlock(&mutex);
}

static void *log_convoy(void *number)
{
    for (int step = 0; step < 2 * STEPS; step++) {
        nap(6);
        log_line();
    }
    return number;
}

static void *tries(void *number) /* the second thread looks again and again for the lock that the first one holds */
{
    for (int step = 0; step < STEPS; step++) {
        nap(number ? 5 : 20);
        if (number) {
            while (pthread_mutex_trylock(&mutex)) usleep(1000);
            pthread_mutex_unlock(&mutex);
            nap(15);
        } else {
            pthread_mutex_lock(&mutex);
            nap(40);
            pthread_mutex_unlock(&mutex);
        }
    }
    return number;
}

static void parse(void) { nap(3); }
static void store(void) { nap(12); }

static void *slow_consumer(void *number) /* the second thread takes what the first one makes: at most four */
{
    for (int step = 0; step < 4 * STEPS; step++) {
        if (!number) parse();
        pthread_mutex_lock(&mutex);
        while (number ? !queued : queued == 4) pthread_cond_wait(number ? &not_empty : &not_full, &mutex);
        queued += number ? -1 : 1;
        pthread_cond_signal(number ? &not_full : &not_empty);
        pthread_mutex_unlock(&mutex);
        if (number) store();
    }
    return number;
}

static void *healthy_log(void *number)
{
    for (int step = 0; step < 2 * STEPS; step++) {
        nap(12);
        pthread_mutex_lock(&mutex);
        queued++;
        pthread_mutex_unlock(&mutex);
    }
    return number;
}

static void run_threads(void *(*body)(void *), int count)
{
    pthread_t threads[THREADS];
    for (long n = 0; n < count; n++) pthread_create(&threads[n], NULL, body, (void *)n);
    for (int n = 0; n < count; n++) pthread_join(threads[n], NULL);
}

/* ---- processes ---- */

NOINLINE static void lookup(void)
{
    nap(15);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

NOINLINE static void serve(int file)
{
    for (char byte; recv(file, &byte, 1, 0) == 1;) {
        lookup();
        if (send(file, &byte, 1, 0) != 1) return;
    }
}

NOINLINE static void ask(int file)
{
    char byte = 0;
    if (send(file, &byte, 1, 0) != 1 || recv(file, &byte, 1, 0) != 1) exit(1);
}

static void slow_server(void)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) exit(1);
    const pid_t child = fork();
    close(pair[!child]);
    if (!child) {
        serve(pair[0]);
        exit(0);
    }
    for (int step = 0; step < 3 * STEPS; step++) {
        nap(2);
        ask(pair[1]);
    }
    close(pair[1]);
    waitpid(child, NULL, 0);
}

#define OPENMP(name) {.property = #name, .step = name}
#define PTHREADS(name, n) {.property = #name, .body = name, .count = n}
static const struct {
    const char *property;
    void (*step)(void);
    void *(*body)(void *);
    int count;
} properties[] = {
    OPENMP(third_section),      OPENMP(input_in_single),   OPENMP(one_long_block),  OPENMP(too_few_tiles),
    OPENMP(healthy_single),     OPENMP(merge_in_critical), PTHREADS(log_convoy, 4), PTHREADS(tries, 2),
    PTHREADS(slow_consumer, 2), PTHREADS(healthy_log, 4),
};

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    if (!strcmp(argv[1], "slow_server")) slow_server();
    for (size_t n = 0; n < sizeof properties / sizeof *properties; n++) {
        if (strcmp(argv[1], properties[n].property)) continue;
        if (properties[n].body) run_threads(properties[n].body, properties[n].count);
        for (int step = 0; properties[n].step && step < STEPS; step++) properties[n].step();
    }
    return total < 0;
}
