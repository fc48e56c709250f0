/* SPDX-License-Identifier: BSD-3-Clause */
/* threads HOW TIMES PASSES: prints the ns per operation for each pass. create: creates a thread that does nothing and
   joins it. lock: locks and unlocks a mutex. spawn: starts /bin/true by posix_spawn and waits for it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *nothing(void *unused) { return unused; }

static void once(const char *how)
{
    char *words[] = {"true", NULL};
    pthread_t thread;
    pid_t pid;
    if (*how == 'c') {
        if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL)) abort();
    } else if (*how == 'l') {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    } else if (posix_spawn(&pid, "/bin/true", NULL, NULL, words, environ) || waitpid(pid, NULL, 0) != pid) abort();
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    long times = atol(argv[2]);
    for (long p = 0; p < atol(argv[3]); p++) {
        double begin = now();
        for (long i = 0; i < times; i++) once(argv[1]);
        printf("%.3f\n", (now() - begin) / (double)times);
    }
    return 0;
}
