/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI programs with OpenMP, with one property each: hybrid_plants PROPERTY [STEPS [MS]]. MS: the longer work. */
#include "work.h"

#include <mpi.h>
#include <omp.h>
#include <string.h>

#define BASE 10 /* ms of each thread and step in compute() */

static int rank, steps = 20;
static double sum, total, ms = 20;

WORKER(compute)
WORKER(chemistry)
WORKER(assemble)

/* Every thread computes; the last one of some ranks longer. */
static void sweep(int is_long)
{
    int n = omp_get_max_threads();
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < n; i++) {
        compute(BASE);
        if (is_long && i == n - 1) chemistry(ms);
    }
}

static void thread_of_one_rank(void) { sweep(rank == 1); }

static void thread_of_each_rank(void) { sweep(1); }

static void serial_of_one_rank(void)
{
    if (rank == 1) assemble(ms);
    sweep(0);
}

static void healthy_hybrid(void) { sweep(0); }

#define PROPERTY(name) {#name, name}
static const struct {
    const char *name;
    void (*one_step)(void);
} properties[] = {
    PROPERTY(thread_of_one_rank),
    PROPERTY(thread_of_each_rank),
    PROPERTY(serial_of_one_rank),
    PROPERTY(healthy_hybrid),
};

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 2) steps = atoi(argv[2]);
    if (argc > 3) ms = atof(argv[3]);
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        for (int step = 0; step < steps && !strcmp(argv[1], properties[i].name); step++) {
            properties[i].one_step();
            MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
    MPI_Finalize();
}
