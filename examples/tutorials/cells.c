/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves heat along a rod, with a function for each cell: millions of calls in a second. */
#include <stdio.h>

enum { CELLS = 10000, STEPS = 200 };

static double now[CELLS], next[CELLS];

double flow(int from, int to) { return 0.25 * (now[from] - now[to]); }

double cell(int i) { return now[i] + flow(i - 1, i) + flow(i + 1, i); }

void step(void)
{
    for (int i = 1; i < CELLS - 1; i++) next[i] = cell(i);
    for (int i = 1; i < CELLS - 1; i++) now[i] = next[i];
}

void report(int number)
{
    double sum = 0;
    for (int i = 0; i < CELLS; i++) sum += now[i];
    printf("step %d: %.3f\n", number, sum);
}

int main(void)
{
    now[CELLS / 2] = 1000;
    for (int number = 1; number <= STEPS; number++) {
        step();
        if (number % 50 == 0) report(number);
    }
    return 0;
}
