/* SPDX-License-Identifier: BSD-3-Clause */
/* ROUNDS parallel regions, in each of which every thread calls tiny CALLS times, inside work. */
#include <stdlib.h>

static volatile long sum[64][16];

__attribute__((noinline, noclone)) void tiny(int thread) { sum[thread & 63][0]++; }

__attribute__((noinline, noclone)) void work(int thread, long calls)
{
    for (long i = 0; i < calls; i++) tiny(thread);
}

int main(int argc, char **argv)
{
    const long rounds = argc > 1 ? atol(argv[1]) : 10, calls = argc > 2 ? atol(argv[2]) : 10;
    for (long i = 0; i < rounds; i++) {
#pragma omp parallel for schedule(static)
        for (int thread = 0; thread < 2; thread++) work(thread, calls);
    }
    return 0;
}
