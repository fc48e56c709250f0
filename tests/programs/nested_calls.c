/* SPDX-License-Identifier: BSD-3-Clause */
/* nested_calls ROUNDS: calls of known depth, from each other, from qsort, and from a signal handler on an alternate
   stack. Each function calculates for some microseconds before and after its calls. */
#include "program.h"

static void spin(void) __attribute__((no_instrument_function, noinline));
static void spin(void)
{
    for (volatile int i = 0; i < 50000; i++) continue;
}

__attribute__((noinline)) void leaf(void) { spin(); }

__attribute__((noinline)) void down(int depth)
{
    spin();
    if (depth) down(depth - 1);
    else leaf();
    spin();
}

/* An array whose size the compiler does not know makes the frame pointer the base of the frame. */
__attribute__((noinline)) void variable(int n)
{
    volatile char array[n];
    array[n - 1] = 1;
    spin();
    leaf();
    spin();
}

__attribute__((noinline)) int compare(const void *a, const void *b)
{
    spin();
    return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) void sort(void)
{
    int numbers[] = {5, 3, 4, 1, 2, 9, 7, 8};
    spin();
    qsort(numbers, sizeof numbers / sizeof *numbers, sizeof *numbers, compare);
}

__attribute__((noinline)) void handler(int number)
{
    (void)number;
    spin();
    leaf();
}

int main(int argc, char **argv)
{
    static char memory[65536];
    stack_t other = {.ss_sp = memory, .ss_size = sizeof memory};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    sigaltstack(&other, NULL);
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < rounds; i++) {
        down(i % 20);
        variable(100 + i % 5000);
        sort();
        raise(SIGUSR1);
    }
    return 0;
}
