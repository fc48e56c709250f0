/* SPDX-License-Identifier: BSD-3-Clause */
/* sampled_faults PAGES [close]: f touches three quarters of the pages for the first time, g the last quarter, so that
   each page is a page fault. close: the program first closes all descriptors but its own. Prints the page faults of f
   and of g by the kernel's count. */
#define _GNU_SOURCE
#include "program.h"

#define PAGE 4096L

static long faults(void)
{
    struct rusage used;
    getrusage(RUSAGE_THREAD, &used);
    return used.ru_minflt + used.ru_majflt;
}

static volatile int which;

__attribute__((noinline)) static long f(volatile char *from, long pages)
{
    long before = faults();
    which = 'f';
    for (long i = 0; i < pages; i++) from[i * PAGE] = 1;
    return faults() - before;
}

__attribute__((noinline)) static long g(volatile char *from, long pages)
{
    long before = faults();
    which = 'g';
    for (long i = 0; i < pages; i++) from[i * PAGE] = 1;
    return faults() - before;
}

int main(int argc, char **argv)
{
    long pages = argc > 1 ? atol(argv[1]) : 4000;
    if (argc > 2 && !strcmp(argv[2], "close"))
        for (int fd = 3; fd < 4096; fd++) close(fd);
    char *at = mmap(NULL, (size_t)(pages * PAGE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return 1;
    madvise(at, (size_t)(pages * PAGE), MADV_NOHUGEPAGE);
    long of_f = f(at, pages * 3 / 4), of_g = g(at + pages * 3 / 4 * PAGE, pages / 4);
    printf("%ld %ld\n", of_f, of_g);
    return 0;
}
