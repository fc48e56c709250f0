/* SPDX-License-Identifier: BSD-3-Clause */
/* sampled_openmp MS: each thread is in a parallel region for MS of CPU time, then four tasks of MS each run. */
#include "program.h"

static double cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void region(double ms)
{
#pragma omp parallel
    for (double end = cpu() + ms; cpu() < end;)
        for (volatile int i = 0; i < 200000; i++) continue;
}

static void tasks(double ms)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 4; i++) {
#pragma omp task
        for (double end = cpu() + ms; cpu() < end;)
            for (volatile int k = 0; k < 200000; k++) continue;
    }
}

int main(int argc, char **argv)
{
    double ms = argc > 1 ? atof(argv[1]) : 50;
    region(ms);
    tasks(ms);
    return 0;
}
