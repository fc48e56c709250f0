/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that compute, and sleep in calls that vtrace does not record: sleep_plants PROPERTY [STEPS [MS]]. With
   PLANT_MPI defined a program of MPI. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "work.h"

#ifdef PLANT_MPI
#include <mpi.h>
#endif

static int steps = 20, rank;
static double ms = 20;

__attribute__((noinline)) static void compute(double of)
{
    const double end = plant_seconds(CLOCK_THREAD_CPUTIME_ID) + 1e-3 * of;
    while (plant_seconds(CLOCK_THREAD_CPUTIME_ID) < end)
        for (volatile int i = 0; i < 20000; i++) continue;
}

__attribute__((noinline)) static void rest(void)
{
    const struct timespec time = {0, (long)(1e6 * ms)};
    nanosleep(&time, NULL);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

__attribute__((noinline)) static void wait_for_input(void)
{
    poll(NULL, 0, (int)ms);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void wait_for_nobody(void)
{
    static int word;
    const struct timespec time = {0, (long)(1e6 * ms)};
    syscall(SYS_futex, &word, FUTEX_WAIT, 0, &time, NULL, 0);
    __asm__ volatile("" ::: "memory");
}

static void sleeper(void) { rest(); }
static void reader(void) { wait_for_input(); }
static void in_futex(void) { wait_for_nobody(); }

static _Atomic int begun;

static void *works(void *none) /* until the first thread joins it */
{
    while (begun < steps) compute(ms / 10);
    return none;
}

static void healthy_main(void) /* the first thread looks from time to time whether the other one is done */
{
    static pthread_t thread;
    if (!begun) pthread_create(&thread, NULL, works, NULL);
    if (++begun < steps) rest();
    else pthread_join(thread, NULL);
}

static void healthy_serial(void) {}
static void one_sleeps(void) { rank == 1 ? rest() : (void)0; }
static void one_polls(void) { rank == 0 ? wait_for_input() : (void)0; }

static const struct {
    const char *name;
    void (*step)(void);
} properties[] = {{"sleeper", sleeper},
                  {"reader", reader},
                  {"in_futex", in_futex},
                  {"healthy_main", healthy_main},
                  {"healthy_serial", healthy_serial},
                  {"one_sleeps", one_sleeps},
                  {"one_polls", one_polls}};

int main(int argc, char **argv)
{
    if (argc > 2) steps = atoi(argv[2]);
    if (argc > 3) ms = atof(argv[3]);
#ifdef PLANT_MPI
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
    for (size_t n = 0; n < sizeof properties / sizeof *properties; n++)
        for (int step = 0; argc > 1 && !strcmp(argv[1], properties[n].name) && step < steps; step++) {
            compute(ms / 2);
            properties[n].step();
#ifdef PLANT_MPI
            MPI_Barrier(MPI_COMM_WORLD);
#endif
        }
#ifdef PLANT_MPI
    MPI_Finalize();
#endif
    return 0;
}
