/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI programs with threads, as people write them: helpers that many functions call, calls by pointer, threads that call
   MPI, nested teams: combined_plants PROPERTY. The compiler inlines most functions. */
#include "work.h"

#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <string.h>

enum { STEPS = 20, THREADS = 3 };

static int rank;
static double sum, total;

static void idle(double ms) { PLANT_WORK(ms); }

static void meet(void) { MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }

/* Rank 1 takes 15 ms longer in react; all functions wait in idle, by wait_table. */
static void wait_table(double ms) { idle(ms); }

static void advect(void) { wait_table(10); }

static void react(void) { wait_table(rank == 1 ? 25 : 10); }

static void (*const physics[])(void) = {advect, react};

static void called_by_pointer(void)
{
    for (int i = 0; i < 2; i++) physics[i]();
    meet();
}

/* Rank 0 takes 20 ms longer in forces, rank 1 takes 8 ms longer in neighbours. */
static void neighbours(void) { idle(rank == 1 ? 18 : 10); }

static void forces(void) { idle(rank == 0 ? 30 : 10); }

static void two_causes(void)
{
    neighbours();
    meet();
    forces();
    meet();
}

/* The cells of rank 1 take 5 ms longer each, on three threads. */
static void cell(void) { idle(rank == 1 ? 10 : 5); }

static void uneven_cells(void)
{
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < 2 * THREADS; i++) cell();
    meet();
}

/* Thread t of rank 0 sends to thread t of rank 1; thread 1 packs 10 ms longer. */
static void pack(int thread) { idle(thread == 1 ? 20 : 10); }

static void threads_call_mpi(void)
{
#pragma omp parallel
    {
        int thread = omp_get_thread_num();
        double part = 0;
        if (rank == 0) pack(thread);
        if (rank == 0) MPI_Send(&part, 1, MPI_DOUBLE, 1, thread, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(&part, 1, MPI_DOUBLE, 0, thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) idle(10);
    }
}

/* The first task takes 25 ms, the others 3 ms; one thread waits for all in taskwait. */
static void refine(int block) { idle(block == 0 ? 25 : 3); }

static void in_taskwait(void)
{
#pragma omp parallel
#pragma omp single
    {
        for (int block = 0; block < 9; block++) {
#pragma omp task firstprivate(block)
            refine(block);
        }
#pragma omp taskwait
    }
    meet();
}

/* The second thread of the second inner team takes 10 ms longer. */
static void inner_block(int team, int thread) { idle(team == 1 && thread == 1 ? 20 : 10); }

static void nested_teams(void)
{
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        int team = omp_get_thread_num();
#pragma omp parallel num_threads(2)
        inner_block(team, omp_get_thread_num());
    }
}

/* The first thread packs for 12 ms, while the others wait for it. */
static void pack_halo(void) { idle(12); }

static void inner_cells(void) { idle(6); }

static void master_packs(void)
{
#pragma omp parallel
    {
#pragma omp master
        pack_halo();
#pragma omp barrier
        inner_cells();
#pragma omp barrier
    }
    meet();
}

/* A thread holds the lock for 6 of 8 ms; two others need it for a short time after 2 ms each. */
static pthread_mutex_t results = PTHREAD_MUTEX_INITIALIZER;
static volatile int done;

static void update_statistics(void)
{
    pthread_mutex_lock(&results);
    idle(6);
    pthread_mutex_unlock(&results);
}

static void *statistics(void *none)
{
    while (!done) {
        update_statistics();
        idle(2);
    }
    return none;
}

static void add_result(void)
{
    pthread_mutex_lock(&results);
    idle(0.1);
    pthread_mutex_unlock(&results);
}

static void *integrate(void *none)
{
    for (int i = 0; i < 3 * STEPS; i++) {
        idle(2);
        add_result();
    }
    return none;
}

static void held_for_statistics(void)
{
    static int step;
    if (step++) return; /* one phase only */
    pthread_t threads[3];
    pthread_create(&threads[2], NULL, statistics, NULL);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, integrate, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    done = 1;
    pthread_join(threads[2], NULL);
}

/* All threads of all ranks work as long, and meet. */
static void healthy_cells(void)
{
#pragma omp parallel
    {
        idle(10);
#pragma omp barrier
        idle(10);
    }
    meet();
}

#define PROPERTY(name) {#name, name}
static const struct {
    const char *name;
    void (*one_step)(void);
} properties[] = {
    PROPERTY(called_by_pointer), PROPERTY(two_causes),          PROPERTY(uneven_cells),
    PROPERTY(threads_call_mpi),  PROPERTY(in_taskwait),         PROPERTY(nested_teams),
    PROPERTY(master_packs),      PROPERTY(held_for_statistics), PROPERTY(healthy_cells),
};

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        for (int step = 0; step < STEPS && !strcmp(argv[1], properties[i].name); step++) properties[i].one_step();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}
