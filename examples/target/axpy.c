/* SPDX-License-Identifier: BSD-3-Clause */
/* y = a x + y on a device, 20 times. `target data` copies both arrays once; without it each round copies them. */
#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 20, ROUNDS = 20 };

int main(void)
{
    float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
    if (!x || !y) return 1;
    for (int i = 0; i < N; i++) {
        x[i] = 1;
        y[i] = 0;
    }
#pragma omp target data map(to : x[0 : N]) map(tofrom : y[0 : N])
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp target teams distribute parallel for map(to : x[0 : N]) map(tofrom : y[0 : N])
        for (int i = 0; i < N; i++) y[i] += 2 * x[i];
    }
    printf("%g\n", y[0]);
    return 0;
}
