/* SPDX-License-Identifier: BSD-3-Clause */
/* A timer's handler reads and writes, also while it interrupts an I/O call of the program; threads are cancelled while
   they read. Prints the number of calls of the program and of the handler. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include "io.h"

static int data, pipe_ends[2];
static volatile long handled;

static void on_timer(int signal)
{
    char c;
    int saved = errno;
    (void)signal;
    MUST(pread(data, &c, 1, 0) == 1 && pwrite(data, &c, 1, 1) == 1);
    handled++;
    errno = saved;
}

static void *reader(void *unused)
{
    char c;
    while (read(pipe_ends[0], &c, 1) == 1) {}
    return unused;
}

int main(int argc, char **argv)
{
    struct itimerval timer = {{0, 200}, {0, 200}}, off = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    long n = argc > 1 ? atol(argv[1]) : 10000;
    pthread_t threads[20];
    char text[8];
    MUST((data = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600)) >= 0 && write(data, "abc", 3) == 3 && !pipe(pipe_ends));
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (long i = 0; i < n; i++) {
        FILE *f = fopen("data", "r");
        MUST(f && fread(text, 1, 3, f) == 3 && !fclose(f));
        errno = 77;
        MUST(write(data, text, 3) == 3 && errno == 77);
    }
    setitimer(ITIMER_REAL, &off, NULL);
    for (int i = 0; i < 20; i++) MUST(!pthread_create(&threads[i], NULL, reader, NULL));
    for (int i = 0; i < 20; i++) {
        void *result;
        MUST(!pthread_cancel(threads[i]) && !pthread_join(threads[i], &result) && result == PTHREAD_CANCELED);
    }
    printf("%ld %ld\n", n, handled);
    return 0;
}
