/* SPDX-License-Identifier: BSD-3-Clause */
/* posts many: posts each of 300,000 semaphores, for which nobody waits.
   posts cancel: a thread is cancelled while it waits for a semaphore; then the program posts the semaphore, in vain.
   posts handler: a thread waits 20 times, and a signal handler posts. Prints how often the loader is asked for the loaded
   libraries meanwhile. The stack of the wait has only calls of the program, so that libc may be unknown. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { MANY = 300000, ROUNDS = 20, DEPTH = 12 };

static sem_t all[MANY], token;
static _Thread_local volatile int in_handler;
static volatile int asked;

int dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *), void *data)
{
    int (*next)(int (*each)(struct dl_phdr_info *, size_t, void *), void *data);
    *(void **)&next = dlsym(RTLD_NEXT, "dl_iterate_phdr");
    asked += in_handler;
    return next(each, data);
}

static void on_signal(int number)
{
    (void)number;
    in_handler = 1;
    sem_post(&token);
    in_handler = 0;
}

__attribute__((noinline)) static int wait_at(int depth)
{
    return depth ? wait_at(depth - 1) + 1 : sem_wait(&token) + 1;
}

static void *waiter(void *rounds)
{
    for (long n = 0; n < (long)rounds; n++)
        if (wait_at(DEPTH) <= 0) return NULL;
    return rounds;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    const struct timespec nap = {0, 10000000};
    const char *what = argc > 1 ? argv[1] : "many";
    if (!strcmp(what, "many")) {
        for (int i = 0; i < MANY; i++)
            if (sem_init(&all[i], 0, 0) || sem_post(&all[i])) return 1;
        return 0;
    }
    sem_init(&token, 0, 0);
    signal(SIGUSR1, on_signal);
    pthread_create(&thread, NULL, waiter, (void *)(long)ROUNDS);
    if (!strcmp(what, "cancel")) pthread_cancel(thread);
    for (int n = 0; *what == 'h' && n < ROUNDS; n++) {
        nanosleep(&nap, NULL);
        pthread_kill(pthread_self(), SIGUSR1);
    }
    pthread_join(thread, NULL);
    if (*what == 'c') sem_post(&token);
    printf("%d\n", asked);
    return 0;
}
