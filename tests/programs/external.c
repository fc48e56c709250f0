/* SPDX-License-Identifier: BSD-3-Clause */
/* external STEPS: main and a thread call step STEPS times, one after the other. step waits 1 ms, reads all clocks, works
   for 2 ms, reads the clocks again, and waits 1 ms. Prints for each call pid, tid, and both readings of: the counter
   of x86-64 (else 0), CLOCK_MONOTONIC_RAW and CLOCK_REALTIME, ns. */
#define _GNU_SOURCE
#include "vt_user.h"
#include "program.h"

static int steps;

static uint64_t ns(int clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

static void wait_for(uint64_t time)
{
    for (uint64_t begin = ns(CLOCK_MONOTONIC); ns(CLOCK_MONOTONIC) - begin < time;) {}
}

static void *body(void *unused)
{
    (void)unused;
    for (int i = 0; i < steps; i++) {
        uint64_t read[2][3];
        VT_USER_START("step");
        wait_for(1000000);
        for (int j = 0; j < 2; j++) {
            read[j][0] = counter();
            read[j][1] = ns(CLOCK_MONOTONIC_RAW);
            read[j][2] = ns(CLOCK_REALTIME);
            wait_for(j ? 1000000 : 2000000);
        }
        VT_USER_END("step");
        printf("%d %ld", getpid(), syscall(SYS_gettid));
        for (int j = 0; j < 6; j++) printf(" %llu", (unsigned long long)read[j % 2][j / 2]);
        printf("\n");
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    steps = argc > 1 ? atoi(argv[1]) : 1;
    body(NULL);
    pthread_create(&thread, NULL, body, NULL);
    pthread_join(thread, NULL);
    return 0;
}
