/* SPDX-License-Identifier: BSD-3-Clause */
/* OpenMP programs with one property each: omp_plants PROPERTY [STEPS [MS]]. MS: the longer work of a step. */
#include "work.h"

#include <omp.h>
#include <string.h>

#define BASE 10 /* ms of each thread and step in compute() */

static int steps = 20, step;
static double ms = 20;
static omp_lock_t lock;

WORKER(compute)
WORKER(chemistry)
WORKER(setup)

static void loop(void)
{
    int n = omp_get_max_threads();
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < n; i++) {
        compute(BASE);
        if (i == n - 1) chemistry(ms);
    }
}

static void sections(void)
{
#pragma omp parallel sections
    {
#pragma omp section
        compute(BASE);
#pragma omp section
        {
            compute(BASE);
            chemistry(ms);
        }
    }
}

static void tasks(void)
{
    int n = omp_get_max_threads();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < n; i++)
#pragma omp task firstprivate(i)
    {
        compute(BASE);
        if (!i) chemistry(ms);
    }
}

static void serial(void)
{
    setup(ms);
#pragma omp parallel
    compute(BASE);
}

static void single(void)
{
#pragma omp parallel
    {
        compute(BASE);
#pragma omp single
        setup(ms);
    }
}

static void critical(void)
{
#pragma omp parallel
    {
        compute(BASE);
#pragma omp critical
        chemistry(ms);
    }
}

static void one_lock(void)
{
#pragma omp parallel
    {
        compute(BASE);
        omp_set_lock(&lock);
        chemistry(ms);
        omp_unset_lock(&lock);
    }
}

static void idle(void) /* work for half of the threads */
{
    int n = omp_get_max_threads() / 2;
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < n; i++) chemistry(ms);
}

static void healthy_loop(void)
{
    int n = omp_get_max_threads();
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < n; i++) {
        compute(BASE);
        chemistry(ms);
    }
}

static void healthy_tasks(void)
{
    int n = omp_get_max_threads();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < n; i++)
#pragma omp task
        chemistry(BASE + ms);
}

static void healthy_lock(void)
{
#pragma omp parallel
    {
        compute(BASE + ms);
#pragma omp critical
        step += 0;
        omp_set_lock(&lock);
        omp_unset_lock(&lock);
    }
}

static void healthy_nested(void) /* a team of two threads in each thread */
{
    omp_set_max_active_levels(2);
#pragma omp parallel
#pragma omp parallel num_threads(2)
    {
        compute(BASE);
#pragma omp barrier
        compute(BASE);
    }
}

#define PROPERTY(name) {#name, name}
static const struct {
    const char *name;
    void (*one_step)(void);
} properties[] = {
    PROPERTY(loop),         PROPERTY(sections),      PROPERTY(tasks),        PROPERTY(serial),
    PROPERTY(single),       PROPERTY(critical),      PROPERTY(one_lock),     PROPERTY(idle),
    PROPERTY(healthy_loop), PROPERTY(healthy_tasks), PROPERTY(healthy_lock), PROPERTY(healthy_nested),
};

int main(int argc, char **argv)
{
    if (argc > 2) steps = atoi(argv[2]);
    if (argc > 3) ms = atof(argv[3]);
    omp_init_lock(&lock);
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (!strcmp(argv[1], properties[i].name))
            for (step = 0; step < steps; step++) properties[i].one_step();
    omp_destroy_lock(&lock);
    return 0;
}
