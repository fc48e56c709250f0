/* SPDX-License-Identifier: BSD-3-Clause */
/* Parallel regions whose threads call a function with their own number, t0 to t3; with an argument first regions of two
   threads that fork such regions of two each. In the outer ones the highest number comes first. */
#include <omp.h>
#include <unistd.h>
#include "keep.h"

static volatile int calls[4];

KEEP void t0(void) { calls[0]++; }
KEEP void t1(void) { calls[1]++; }
KEEP void t2(void) { calls[2]++; }
KEEP void t3(void) { calls[3]++; }
KEEP void of0(void) { calls[0]++; }
KEEP void of1(void) { calls[1]++; }

static void own(void)
{
    void (*const functions[])(void) = {t0, t1, t2, t3};
    functions[omp_get_thread_num()]();
}

static void inside(void)
{
    void (*const functions[])(void) = {of0, of1};
    if (omp_get_thread_num()) functions[omp_get_ancestor_thread_num(1)]();
}

int main(int argc, char **argv)
{
    (void)argv;
    omp_set_max_active_levels(2);
    for (int i = 0; argc > 1 && i < 4; i++) {
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
        inside();
    }
    for (int i = 0; i < 4; i++) {
#pragma omp parallel num_threads(4)
        {
            usleep(1000 * (unsigned)(3 - omp_get_thread_num()));
            own();
        }
    }
    return 0;
}
