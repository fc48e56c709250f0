/* SPDX-License-Identifier: BSD-3-Clause */
/* idles SECONDS [off]: two threads call leaf once, the first one repeatedly for 2 * SECONDS; then both wait forever.
   main ends after 4 * SECONDS. With "off" it switches recording off after SECONDS. */
#include "vt_user.h"
#include "program.h"

static volatile long sink;
static double seconds;

KEEP void leaf(void) { sink++; }

QUIET static void rest(double time)
{
    struct timespec t = {(time_t)time, (long)((time - (long)time) * 1e9)};
    nanosleep(&t, NULL);
}

QUIET static void *body(void *is_first)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        leaf();
        rest(0.001);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (is_first &&
             (double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) * 1e-9 < 2 * seconds);
    for (;;) pause();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    seconds = atof(argv[1]);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, body, i ? NULL : argv);
    if (argc > 2) {
        rest(seconds);
        VT_OFF();
        rest(3 * seconds);
    } else rest(4 * seconds);
    return 0;
}
