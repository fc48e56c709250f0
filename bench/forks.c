/* SPDX-License-Identifier: BSD-3-Clause */
/* forks CHILDREN: forks children one after the other; each calls a function and ends. Prints the mean time in us from
   before the fork to after the wait. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))

static PLAIN double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

__attribute__((noinline)) static void work(void) { __asm__ volatile("" ::: "memory"); }

PLAIN int main(int argc, char **argv)
{
    const int children = argc > 1 ? atoi(argv[1]) : 1000;
    work();
    const double begin = now();
    for (int i = 0; i < children; i++) {
        const pid_t child = fork();
        if (child < 0) return 1;
        if (!child) {
            work();
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    printf("%.2f\n", (now() - begin) / children);
    return 0;
}
