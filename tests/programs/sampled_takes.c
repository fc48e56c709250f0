/* SPDX-License-Identifier: BSD-3-Clause */
/* Installs a handler for each real-time signal, raises the last one three times and calculates between. Prints the
   number of runs of the handler. */
#include "program.h"

static volatile int count;

static void handler(int number)
{
    (void)number;
    count++;
}

static void calculate(int hundredths)
{
    clock_t end = clock() + hundredths * (CLOCKS_PER_SEC / 100);
    while (clock() < end)
        for (volatile int i = 0; i < 1000000; i++) continue;
}

int main(void)
{
    struct sigaction action = {.sa_handler = handler}, before;
    calculate(20);
    for (int n = SIGRTMIN; n <= SIGRTMAX; n++) {
        if (sigaction(n, &action, &before) || before.sa_handler != SIG_DFL) printf("signal %d was taken\n", n);
    }
    for (int i = 0; i < 3; i++) {
        calculate(10);
        raise(SIGRTMAX - 2);
    }
    printf("%d\n", count);
    return 0;
}
