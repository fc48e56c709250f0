/* SPDX-License-Identifier: BSD-3-Clause */
/* altstack CALLS: a signal handler on an alternate stack of SIGSTKSZ (8 KiB): on_signal 1 -> work CALLS.
   Nothing else is traced; with -DMAIN= main 1 is traced, too. */
#include "program.h"

#ifndef MAIN
#define MAIN QUIET
#endif
#define GUARD 4096

static volatile long sink;
static long calls;

KEEP void work(long i) { sink += i; }

static void on_signal(int unused)
{
    (void)unused;
    for (long i = 0; i < calls; i++) work(i);
}

MAIN int main(int argc, char **argv)
{
    char *memory = mmap(0, GUARD + SIGSTKSZ, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, GUARD, PROT_NONE)) return 1;
    stack_t stack = {.ss_sp = memory + GUARD, .ss_size = SIGSTKSZ};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    calls = argc > 1 ? atol(argv[1]) : 10;
    if (sigaltstack(&stack, 0) || sigaction(SIGUSR1, &action, 0) || raise(SIGUSR1)) return 1;
    printf("done %ld\n", calls);
    return 7;
}
