/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets each signal to its default, as daemons and runtimes do before they start: resets_signals library|number. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int by_number = argc > 1 && !strcmp(argv[1], "number");
    struct sigaction none = {.sa_handler = SIG_DFL};
    unsigned long kernel[4] = {0}; /* struct sigaction of the kernel: all zero is the default */
    clock_t end = clock() + CLOCKS_PER_SEC / 5;
    int set = 0;
    for (int n = 0; n <= SIGRTMAX; n++)
        if (by_number) set += !syscall(SYS_rt_sigaction, n, kernel, NULL, 8);
        else set += !sigaction(n, &none, NULL) + (signal(n, SIG_DFL) != SIG_ERR);
    while (clock() < end)
        for (volatile int i = 0; i < 1000000; i++) continue;
    printf("%d\n", set);
    return 3;
}
