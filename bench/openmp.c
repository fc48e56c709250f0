/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the ns of a parallel region of 2 threads, of a barrier and a critical region of one thread, and of two floors
   of the latter two. The first floor reads the clock twice and stores 8 bytes each time. The second floor, with
   -DVTRACE, is two records of vtrace: start and end of a user region, each with its clock read. Each figure is the best
   of many short runs. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include "now.h"
#include "vt_user.h"

static uint64_t area[1 << 15];
static int sum;

static double regions(int n)
{
    double begin = omp_get_wtime();
    for (int i = 0; i < n; i++) {
#pragma omp parallel num_threads(2)
        __asm__ volatile("");
    }
    return omp_get_wtime() - begin;
}

static double barriers(int n)
{
    double begin = omp_get_wtime();
    for (int i = 0; i < n; i++) {
#pragma omp barrier
    }
    return omp_get_wtime() - begin;
}

static double criticals(int n)
{
    double begin = omp_get_wtime();
    for (int i = 0; i < n; i++) {
#pragma omp critical
        sum++;
    }
    return omp_get_wtime() - begin;
}

static double clocks(int n)
{
    double begin = omp_get_wtime();
    for (int i = 0; i < 2 * n; i++) *(volatile uint64_t *)&area[i & ((1 << 15) - 1)] = now();
    return omp_get_wtime() - begin;
}

static double records(int n)
{
    double begin = omp_get_wtime();
    for (int i = 0; i < n; i++) {
        VT_USER_START("record");
        __asm__ volatile("");
        VT_USER_END("record");
    }
    return omp_get_wtime() - begin;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 500;
    double best[5] = {1e9, 1e9, 1e9, 1e9, 1e9};
    for (int r = 0; r < 400; r++) {
        double t[5] = {regions(n)};
#pragma omp parallel num_threads(1)
        {
            t[1] = barriers(n);
            t[2] = criticals(n);
        }
        t[3] = clocks(n);
        t[4] = records(n);
        for (int i = 0; i < 5; i++)
            if (t[i] < best[i]) best[i] = t[i];
    }
    for (int i = 0; i < 5; i++) printf("%.2f\n", best[i] / n * 1e9);
    return 0;
}
