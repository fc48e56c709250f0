/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI programs with one property each: mpi_plants PROPERTY [STEPS]. Comments "line: NAME" mark the calls of the table. */
#include "work.h"

#include <fcntl.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BASE 10 /* ms of each rank and step in compute() */
#define BIG (1 << 21)

static int rank, size, steps = 20, step;
static double sum, total;
static char *data;

/* Counts its calls, so that the compiler does not merge functions with the same code. */
#define WORKER(name)                                    \
    static __attribute__((noinline)) void name(double ms) \
    {                                                   \
        static volatile int calls;                      \
        calls++;                                        \
        PLANT_WORK(ms);                                 \
    }
WORKER(compute)
WORKER(prepare)
WORKER(chemistry)
WORKER(rebuild_tree)

static void reduce_all(void)
{
    MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* line: allreduce */
}

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD); /* line: barrier */
}

/* Even ranks prepare 20 ms longer than the odd ones compute, which wait in MPI_Recv. */
static void late_sender(void)
{
    if (rank % 2 == 0 && rank + 1 < size) {
        prepare(BASE + 20);
        MPI_Send(data, 1000, MPI_BYTE, rank + 1, 1, MPI_COMM_WORLD);
    } else if (rank % 2) {
        compute(BASE);
        MPI_Recv(data, 1000, MPI_BYTE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line: receive */
    }
}

static void late_receiver(void)
{
    if (rank % 2 == 0 && rank + 1 < size) {
        compute(BASE);
        MPI_Ssend(data, 1000, MPI_BYTE, rank + 1, 1, MPI_COMM_WORLD); /* line: send */
    } else if (rank % 2) {
        prepare(BASE + 20);
        MPI_Recv(data, 1000, MPI_BYTE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* The receiver asks first for the message that the sender sends last. */
static void wrong_order(void)
{
    if (rank % 2 == 0 && rank + 1 < size) {
        for (int tag = 0; tag < 2; tag++) {
            MPI_Send(data, 1000, MPI_BYTE, rank + 1, tag, MPI_COMM_WORLD);
            prepare(BASE + (tag ? 0 : 10));
        }
    } else if (rank % 2) {
        for (int tag = 1; tag >= 0; tag--) {
            MPI_Recv(data, 1000, MPI_BYTE, rank - 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line: receive_order */
            compute(BASE);
        }
    }
}

static void late_broadcast(void)
{
    if (!rank)
        prepare(BASE + 20);
    else
        compute(BASE);
    MPI_Bcast(data, 1000, MPI_BYTE, 0, MPI_COMM_WORLD); /* line: broadcast */
    barrier();
}

static void early_reduce(void)
{
    if (rank)
        prepare(BASE + 20);
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD); /* line: reduce */
}

static void at_barrier(void)
{
    compute(BASE);
    if (rank == size - 1)
        chemistry(20);
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

static void main_only(void) /* inlined into main: the work of the last rank belongs to no function of its own */
{
    PLANT_WORK(rank == size - 1 ? 28 : 20);
    reduce_all();
}

static void periodic(void)
{
    compute(BASE);
    if (rank == 1 && step % 17 == 16)
        rebuild_tree(60);
    reduce_all();
}

static void single_slow(void)
{
    compute(BASE);
    if (rank == 1 && step == steps / 2)
        rebuild_tree(100);
    reduce_all();
}

static void drift(void)
{
    compute(BASE + 20.0 * step / steps);
    reduce_all();
}

static void pipeline(void)
{
    if (rank)
        MPI_Recv(data, 1000, MPI_BYTE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line: pipe */
    chemistry(BASE);
    if (rank + 1 < size)
        MPI_Send(data, 1000, MPI_BYTE, rank + 1, 1, MPI_COMM_WORLD);
    barrier();
}

/* The master takes 10 ms for each of the workers' requests, one after the other. */
static void master(void)
{
    if (!rank) {
        for (int worker = 1; worker < size; worker++) {
            MPI_Status status;
            MPI_Recv(data, 1000, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
            prepare(10);
            MPI_Send(data, 1000, MPI_BYTE, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
        }
    } else {
        MPI_Send(data, 1000, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        MPI_Recv(data, 1000, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line: answer */
        compute(5);
    }
}

static __attribute__((noinline)) void write_all(void)
{
    int file = open("plant.out", O_CREAT | O_WRONLY | O_TRUNC, 0600);
    for (int i = 0; i < 8; i++) {
        if (write(file, data, BIG) != BIG) /* line: write */
            abort();
        fsync(file);
    }
    close(file);
}

static void io_by_one(void)
{
    compute(BASE);
    if (!rank)
        write_all();
    barrier();
}

static __attribute__((noinline)) void format_results(void)
{
    FILE *file = fopen("plant.txt", "w");
    for (int i = 0; i < 100000; i++)
        fprintf(file, "%d %.17g %.17g\n", i, sin(i), cos(i)); /* line: print */
    fclose(file);
}

static void formatting_by_one(void)
{
    compute(BASE);
    if (!rank)
        format_results();
    barrier();
}

static void small_writes(void)
{
    char name[64];
    snprintf(name, sizeof name, "plant.%d", rank);
    int file = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    for (int i = 0; i < 20000; i++)
        if (write(file, data, 8) != 8) /* line: small_write */
            abort();
    close(file);
    compute(BASE);
    barrier();
}

static void small_messages(void)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    compute(2);
    for (int i = 0; i < 20000; i++)
        MPI_Sendrecv(data, 8, MPI_BYTE, right, 1, data + 8, 8, MPI_BYTE, left, 1, MPI_COMM_WORLD, /* line: small */
                     MPI_STATUS_IGNORE);
}

static void needless_barriers(void)
{
    compute(2);
    for (int i = 0; i < 5000; i++)
        MPI_Barrier(MPI_COMM_WORLD); /* line: needless */
}

/* Rank 0 sends a hundred times as much as the others. */
static void uneven_volume(void)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int mine = rank ? 1000 : BIG, theirs = left ? 1000 : BIG;
    compute(BASE);
    for (int i = 0; i < 20; i++)
        MPI_Sendrecv(data, mine, MPI_BYTE, right, 1, data + BIG, theirs, MPI_BYTE, left, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE); /* line: volume */
    barrier();
}

static void healthy(void)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    compute(BASE);
    chemistry(2 * BASE);
    MPI_Sendrecv(data, 1000, MPI_BYTE, right, 1, data + BIG, 1000, MPI_BYTE, left, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    reduce_all();
}

#define PROPERTY(name) {#name, name}
static const struct {
    const char *name;
    void (*one_step)(void);
} properties[] = {
    PROPERTY(late_sender),   PROPERTY(late_receiver),     PROPERTY(wrong_order), PROPERTY(late_broadcast),
    PROPERTY(early_reduce),  PROPERTY(at_barrier),        PROPERTY(at_nxn),      PROPERTY(straggler),
    PROPERTY(main_only),     PROPERTY(periodic),          PROPERTY(single_slow), PROPERTY(drift),
    PROPERTY(pipeline),      PROPERTY(master),            PROPERTY(io_by_one),   PROPERTY(formatting_by_one),
    PROPERTY(small_writes),  PROPERTY(small_messages),    PROPERTY(needless_barriers),
    PROPERTY(uneven_volume), PROPERTY(healthy),
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    data = calloc(2, BIG);
    if (argc > 2)
        steps = atoi(argv[2]);
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (!strcmp(argv[1], properties[i].name))
            for (step = 0; step < steps; step++)
                properties[i].one_step();
    MPI_Finalize();
}
