/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel sends SIGIO for each byte in a pipe, while three threads calculate. Prints the count of the handler. */
#define _GNU_SOURCE
#include "program.h"

#define BYTES 1000

static _Atomic int handled, ends;

static void handler(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    handled++;
}

static void *calculate(void *unused)
{
    while (!ends)
        for (volatile int i = 0; i < 1000; i++) continue;
    return unused;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    pthread_t threads[2];
    int ends_of_pipe[2];
    char byte = 0;
    sigfillset(&action.sa_mask);
    if (sigaction(SIGIO, &action, NULL) || pipe(ends_of_pipe)) return 1;
    fcntl(ends_of_pipe[0], F_SETOWN, getpid());
    fcntl(ends_of_pipe[0], F_SETFL, O_ASYNC | O_NONBLOCK);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, calculate, NULL);
    for (int i = 0; i < BYTES; i++) {
        int before = handled;
        time_t last = time(NULL) + 20;
        if (write(ends_of_pipe[1], &byte, 1) != 1) return 1;
        while (handled == before && time(NULL) < last) continue;
        if (handled == before || read(ends_of_pipe[0], &byte, 1) != 1) break;
    }
    ends = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%d\n", handled);
    return 0;
}
