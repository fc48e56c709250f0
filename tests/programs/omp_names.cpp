// SPDX-License-Identifier: BSD-3-Clause
// Parallel regions in functions of several kinds, for the names of regions without debug lines. Each has another number
// of rounds: count 2, sums::add 3, twice 4 and 5.
#include <cstdio>

static volatile int rounds[] = {2, 3, 4, 5}; // the compiler unrolls no loop

namespace sums {
__attribute__((noinline)) long add(long n)
{
    long sum = 0;
    for (int round = 0; round < rounds[1]; round++) {
#pragma omp parallel for reduction(+ : sum) schedule(static)
        for (long i = 0; i < n; i++) sum += i;
    }
    return sum;
}
} // namespace sums

extern "C" __attribute__((noinline)) long count(void)
{
    long sum = 0;
    for (int round = 0; round < rounds[0]; round++) {
#pragma omp parallel
        {
#pragma omp barrier
#pragma omp critical
            sum++;
        }
    }
    return sum;
}

extern "C" __attribute__((noinline)) long twice(void)
{
    long sum = 0;
    for (int round = 0; round < rounds[2]; round++) {
#pragma omp parallel
#pragma omp critical
        sum += 10;
    }
    for (int round = 0; round < rounds[3]; round++) {
#pragma omp parallel
#pragma omp critical
        sum += 100;
    }
    return sum;
}

#ifndef LIBRARY
int main()
{
    std::printf("%ld\n", count() + sums::add(10) + twice());
    return 0;
}
#endif
