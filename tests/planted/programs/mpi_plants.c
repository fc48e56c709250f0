/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI programs with one property each: mpi_plants PROPERTY [STEPS]. */
#include "work.h"

#include <mpi.h>
#include <string.h>

#define BASE 10 /* ms of each rank and step in compute() */
#define BYTES 1000 /* of a message */

static int rank, size, steps = 20, step;
static double sum, total;
static char data[2 * BYTES];

WORKER(compute)
WORKER(prepare)
WORKER(chemistry)
WORKER(rebuild_tree)

static void reduce_all(void) { MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

/* Even ranks prepare 20 ms longer than the odd ones compute, which wait in MPI_Recv. */
static void late_sender(void)
{
    if (rank % 2 == 0 && rank + 1 < size) {
        prepare(BASE + 20);
        MPI_Send(data, BYTES, MPI_BYTE, rank + 1, 1, MPI_COMM_WORLD);
    } else if (rank % 2) {
        compute(BASE);
        MPI_Recv(data, BYTES, MPI_BYTE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void late_receiver(void)
{
    if (rank % 2 == 0 && rank + 1 < size) {
        compute(BASE);
        MPI_Ssend(data, BYTES, MPI_BYTE, rank + 1, 1, MPI_COMM_WORLD);
    } else if (rank % 2) {
        prepare(BASE + 20);
        MPI_Recv(data, BYTES, MPI_BYTE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void late_broadcast(void)
{
    if (!rank) prepare(BASE + 20);
    else compute(BASE);
    MPI_Bcast(data, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
    barrier();
}

static void early_reduce(void)
{
    if (rank) prepare(BASE + 20);
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void at_barrier(void)
{
    compute(BASE);
    if (rank == size - 1) chemistry(20);
    barrier();
}

/* Every rank works longer than the one before. */
static void at_nxn(void)
{
    compute(BASE);
    chemistry(30.0 * rank / (size - 1));
    reduce_all();
}

static void straggler(void)
{
    compute(BASE);
    chemistry(rank == size / 2 ? 26 : 20);
    reduce_all();
}

static void main_only(void) /* no function of its own for the longer work */
{
    PLANT_WORK(rank == size - 1 ? 28 : 20);
    reduce_all();
}

static void periodic(void)
{
    compute(BASE);
    if (rank == 1 && step % 17 == 16) rebuild_tree(60);
    reduce_all();
}

static void single_slow(void)
{
    compute(BASE);
    if (rank == 1 && step == steps / 2) rebuild_tree(100);
    reduce_all();
}

static void drift(void)
{
    compute(BASE + 20.0 * step / steps);
    reduce_all();
}

static void pipeline(void)
{
    if (rank) MPI_Recv(data, BYTES, MPI_BYTE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    chemistry(BASE);
    if (rank + 1 < size) MPI_Send(data, BYTES, MPI_BYTE, rank + 1, 1, MPI_COMM_WORLD);
    barrier();
}

static void healthy(void)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    compute(BASE);
    chemistry(2 * BASE);
    MPI_Sendrecv(data, BYTES, MPI_BYTE, right, 1, data + BYTES, BYTES, MPI_BYTE, left, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    reduce_all();
}

#define PROPERTY(name) {#name, name}
static const struct {
    const char *name;
    void (*one_step)(void);
} properties[] = {
    PROPERTY(late_sender), PROPERTY(late_receiver), PROPERTY(late_broadcast), PROPERTY(early_reduce),
    PROPERTY(at_barrier),  PROPERTY(at_nxn),        PROPERTY(straggler),      PROPERTY(main_only),
    PROPERTY(periodic),    PROPERTY(single_slow),   PROPERTY(drift),          PROPERTY(pipeline),
    PROPERTY(healthy),
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2) steps = atoi(argv[2]);
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (!strcmp(argv[1], properties[i].name))
            for (step = 0; step < steps; step++) properties[i].one_step();
    MPI_Finalize();
}
