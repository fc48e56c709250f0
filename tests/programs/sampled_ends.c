/* SPDX-License-Identifier: BSD-3-Clause */
/* sampled_ends MODE: "main": the main thread ends by pthread_exit while another one works, which prints "done"; "short
   N": N threads one after the other, each works 3 parts of 4 in large and one in small, about 16 ms altogether on any
   processor. */
#include "program.h"

static double pace = 1; /* rounds of spend in 4 ns */

static double spend(int n)
{
    volatile double sum = 0;
    for (int i = 0; i < n; i++) sum = sum + i;
    return sum;
}

__attribute__((noinline)) static double large(void) { return spend((int)(3000000 * pace)) + 1; }
__attribute__((noinline)) static double small(void) { return spend((int)(1000000 * pace)) + 1; }

static void *work(void *unused)
{
    (void)unused;
    for (int i = 0; i < 20; i++) large();
    puts("done");
    return NULL;
}

static void *both(void *unused)
{
    (void)unused;
    large();
    small();
    return NULL;
}

static double cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    const double begin = cpu();
    spend(1000000);
    pace = 4e6 / (cpu() - begin);
    if (argc > 1 && !strcmp(argv[1], "main")) {
        pthread_create(&thread, NULL, work, NULL);
        pthread_exit(NULL);
    }
    for (int i = 0; argc > 2 && i < atoi(argv[2]); i++) {
        pthread_create(&thread, NULL, both, NULL);
        pthread_join(thread, NULL);
    }
    return 0;
}
