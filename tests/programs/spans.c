/* SPDX-License-Identifier: BSD-3-Clause */
/* spans CALLS SECONDS THREADS: main 1 -> CALLS times: user region "phase" -> step -> leaf 3. Then main and THREADS
   threads call spin -> leaf repeatedly for SECONDS. */
#include "vt_user.h"
#include "program.h"

static volatile long sink;
static double until;

KEEP void leaf(void) { sink++; }

KEEP void step(void)
{
    for (int i = 0; i < 3; i++) leaf();
}

QUIET static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

KEEP void spin(void)
{
    while (now() < until) {
        struct timespec rest = {0, 50000};
        leaf();
        nanosleep(&rest, NULL);
    }
}

QUIET static void *body(void *unused)
{
    spin();
    return unused;
}

int main(int argc, char **argv)
{
    int threads = argc > 3 ? atoi(argv[3]) : 0;
    pthread_t others[8];
    for (long i = 0; i < atol(argv[1]); i++) {
        VT_USER_START("phase");
        step();
        VT_USER_END("phase");
    }
    until = now() + (argc > 2 ? atof(argv[2]) : 0);
    for (int i = 0; i < threads; i++) pthread_create(&others[i], NULL, body, NULL);
    spin();
    for (int i = 0; i < threads; i++) pthread_join(others[i], NULL);
    return 0;
}
