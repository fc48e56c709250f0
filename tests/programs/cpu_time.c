/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads and processes whose CPU time is known: each prints its kind, and its seconds in user and in kernel mode.
   With the argument exec, the program first computes, and then executes itself; with kill, it kills itself. */
#define _GNU_SOURCE
#include "program.h"

static pthread_barrier_t told;

static double burn(double seconds)
{
    struct rusage usage;
    volatile double sum = 0;
    do {
        for (int i = 0; i < 1000000; i++) sum = sum + i;
        getrusage(RUSAGE_THREAD, &usage);
    } while ((double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 < seconds);
    return sum;
}

static void work_in_kernel(double seconds)
{
    static char bytes[1 << 20];
    struct rusage usage;
    int fd = open("/dev/zero", O_RDONLY);
    do {
        for (int i = 0; i < 100; i++)
            if (read(fd, bytes, sizeof bytes) < 0) return;
        getrusage(RUSAGE_THREAD, &usage);
    } while ((double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6 < seconds);
    close(fd);
}

static void tell(const char *kind)
{
    struct rusage usage;
    char text[100];
    getrusage(RUSAGE_THREAD, &usage);
    int n = snprintf(text, sizeof text, "%s %ld.%06ld %ld.%06ld\n", kind, (long)usage.ru_utime.tv_sec,
                     (long)usage.ru_utime.tv_usec, (long)usage.ru_stime.tv_sec, (long)usage.ru_stime.tv_usec);
    if (write(1, text, (size_t)n) != n) _exit(1);
}

static void *ends(void *kind)
{
    burn(0.15);
    tell(kind);
    return NULL;
}

static void *stays(void *kind)
{
    pthread_setname_np(pthread_self(), "x) R 7 7 (y");
    burn(0.25);
    tell(kind);
    pthread_barrier_wait(&told);
    for (;;) pause();
}

int main(int argc, char **argv)
{
    pthread_t one, two;
    if (argc > 1 && !strcmp(argv[1], "exec")) {
        burn(0.4);
        tell("before");
        execl(argv[0], argv[0], (char *)NULL);
        return 1;
    }
    pthread_barrier_init(&told, NULL, 2);
    pid_t child = fork();
    if (!child) {
        burn(0.1);
        tell("child");
        return 0;
    }
    waitpid(child, NULL, 0);
    pthread_create(&two, NULL, stays, "stays");
    for (int i = 0; i < 2; i++) {
        pthread_create(&one, NULL, ends, "ends");
        pthread_join(one, NULL);
    }
    work_in_kernel(0.2);
    pthread_barrier_wait(&told);
    if (argc > 1 && !strcmp(argv[1], "kill")) raise(SIGKILL);
    tell("main");
    return 0;
}
