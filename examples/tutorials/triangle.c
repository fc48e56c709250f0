/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums the distances between all pairs of points, with threads. Row i has i pairs, so the thread with the last rows has
   three times the work of the first thread. Compile with -DMENDED for rows that are handed out one by one. */
#include <math.h>
#include <stdio.h>

enum { POINTS = 6000, STEPS = 3 };

static double x[POINTS], y[POINTS];

double distances(int row)
{
    double sum = 0;
    for (int other = 0; other < row; other++) sum += hypot(x[row] - x[other], y[row] - y[other]);
    return sum;
}

double all_distances(void)
{
    double sum = 0;
#ifdef MENDED
#pragma omp parallel for num_threads(2) schedule(dynamic, 16) reduction(+ : sum)
#else
#pragma omp parallel for num_threads(2) schedule(static) reduction(+ : sum)
#endif
    for (int row = 0; row < POINTS; row++) sum += distances(row);
    return sum;
}

int main(void)
{
    double sum = 0;
    for (int i = 0; i < POINTS; i++) x[i] = i % 83, y[i] = i % 89;
    for (int step = 0; step < STEPS; step++) sum += all_distances();
    printf("mean %.6f\n", sum / STEPS / POINTS / (POINTS - 1) * 2);
    return 0;
}
