/* SPDX-License-Identifier: BSD-3-Clause */
/* How the planted programs pass time: asleep, or with PLANT_COMPUTES set by processor time of the calling thread. */
#pragma once
#include <stdlib.h>
#include <time.h>

static inline double plant_seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

/* A macro, so that the time belongs to the function that the table names, at any level of optimisation. */
#define PLANT_WORK(ms)                                                                                                 \
    do {                                                                                                               \
        double plant_s = 1e-3 * (ms);                                                                                  \
        if (getenv("PLANT_COMPUTES")) {                                                                                \
            double plant_end = plant_seconds(CLOCK_THREAD_CPUTIME_ID) + plant_s;                                       \
            while (plant_seconds(CLOCK_THREAD_CPUTIME_ID) < plant_end)                                                 \
                for (volatile int plant_i = 0; plant_i < 20000; plant_i++) {}                                          \
        } else {                                                                                                       \
            struct timespec plant_t = {(time_t)plant_s, (long)(1e9 * (plant_s - (time_t)plant_s))};                    \
            nanosleep(&plant_t, NULL);                                                                                 \
        }                                                                                                              \
    } while (0)

/* Counts its calls, so that the compiler does not merge functions with the same code. */
#define WORKER(name)                                                                                                   \
    static __attribute__((noinline)) void name(double ms)                                                              \
    {                                                                                                                  \
        static volatile int calls;                                                                                     \
        calls++;                                                                                                       \
        PLANT_WORK(ms);                                                                                                \
    }
