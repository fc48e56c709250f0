/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that gcc -O2 and clang -O2 inline into main: with a loop, with calls only, and one too short to record. */
#include <stdio.h>
#include <stdlib.h>

static inline double chemistry(const double *field, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += field[i] * field[i] / (1 + field[i]);
    return sum;
}

static inline void report(double sum)
{
    fprintf(stderr, "sum %g\n", sum);
    fprintf(stderr, "half %g\n", sum / 2);
    fprintf(stderr, "third %g\n", sum / 3);
}

static inline int next(int n) { return n + 1; }

__attribute__((noinline)) static double recorded(double *field, int n)
{
    for (int i = 0; i < n; i++) field[i] = i;
    return field[n - 1];
}

int main(int argc, char **argv)
{
    int n = next(argc > 1 ? atoi(argv[1]) : 1000);
    double *field = calloc((size_t)n, sizeof *field);
    double last = recorded(field, n);
    report(chemistry(field, n) + last);
    free(field);
    return 0;
}
