/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that use memory: memory_plants PROPERTY [STEPS [MIB]]. With PLANT_MPI defined a program of MPI. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "work.h"

#ifdef PLANT_MPI
#include <mpi.h>
#endif

static int steps = 20;
static size_t bytes = (size_t)48 << 20;
static unsigned sum;

__attribute__((noinline)) static void compute(double ms)
{
    const double end = plant_seconds(CLOCK_THREAD_CPUTIME_ID) + 1e-3 * ms;
    while (plant_seconds(CLOCK_THREAD_CPUTIME_ID) < end)
        for (volatile int i = 0; i < 20000; i++) continue;
}

__attribute__((noinline)) static void write_pages(unsigned char *array)
{
    for (size_t i = 0; i < bytes; i += 1024) array[i] = (unsigned char)i;
    sum += array[bytes / 2];
}

static void page_storm(void) /* malloc gets an array of this size from the kernel, and free gives it back */
{
    unsigned char *array = malloc(bytes);
    if (!array) exit(1);
    write_pages(array);
    free(array);
}

static void healthy_reuse(void)
{
    static unsigned char *array;
    if (!array && !(array = malloc(bytes))) exit(1);
    write_pages(array);
    compute(10);
}

static void healthy_blocks(void)
{
    for (int i = 0; i < 20000; i++) {
        volatile unsigned char *block = malloc(64);
        if (!block) exit(1);
        block[0] = 1;
        free((void *)block);
    }
    compute(10);
}

static void healthy_first_use(void) /* each step uses memory of its own, once */
{
    unsigned char *array = malloc(bytes / 16);
    if (!array) exit(1);
    memset(array, 1, bytes / 16);
    sum += array[bytes / 32];
    compute(10);
}

static const struct {
    const char *name;
    void (*step)(void);
} properties[] = {{"page_storm", page_storm},
                  {"healthy_reuse", healthy_reuse},
                  {"healthy_blocks", healthy_blocks},
                  {"healthy_first_use", healthy_first_use}};

int main(int argc, char **argv)
{
    if (argc > 2) steps = atoi(argv[2]);
    if (argc > 3) bytes = (size_t)atoi(argv[3]) << 20;
#ifdef PLANT_MPI
    MPI_Init(&argc, &argv);
#endif
    for (size_t n = 0; n < sizeof properties / sizeof *properties; n++)
        for (int step = 0; argc > 1 && !strcmp(argv[1], properties[n].name) && step < steps; step++) {
            compute(4);
            properties[n].step();
        }
#ifdef PLANT_MPI
    MPI_Finalize();
#endif
    return sum == 1;
}
