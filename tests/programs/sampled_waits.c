/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread blocks all signals and waits for any of them, by sigwait, sigwaitinfo and sigtimedwait. Prints the signals
   that it gets: three times SIGUSR1, then none. */
#define _GNU_SOURCE
#include "program.h"

static sigset_t all;

static void *wait_for_all(void *unused)
{
    const struct timespec second = {1, 0}, short_time = {0, 200000000};
    siginfo_t info;
    int number = 0;
    (void)unused;
    if (sigwait(&all, &number)) puts("sigwait failed");
    printf("%d\n", number == SIGUSR1);
    printf("%d\n", sigwaitinfo(&all, &info) == SIGUSR1 && info.si_signo == SIGUSR1);
    printf("%d\n", sigtimedwait(&all, &info, &second) == SIGUSR1);
    printf("%d\n", sigtimedwait(&all, NULL, &short_time) == -1 && errno == EAGAIN);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    pthread_create(&thread, NULL, wait_for_all, NULL);
    for (int i = 0; i < 3; i++) {
        usleep(100000);
        pthread_kill(thread, SIGUSR1);
    }
    pthread_join(thread, NULL);
    return 0;
}
