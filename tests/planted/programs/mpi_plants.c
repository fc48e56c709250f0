/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI programs with one property each: mpi_plants PROPERTY [STEPS [MS]]. MS: the longer work. */
#include "work.h"

#include <mpi.h>
#include <string.h>
#include <unistd.h>

#define BASE 10 /* ms of each rank and step in compute() */
#define BYTES 1000 /* of a message */

static int rank, size, steps = 20, step;
static double sum, total, ms = 20;
static char data[2 * BYTES];

WORKER(compute)
WORKER(prepare)
WORKER(chemistry)
WORKER(rebuild_tree)
WORKER(write_block)

static void reduce_all(void) { MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

/* Even ranks prepare longer than the odd ones compute, which wait in MPI_Recv. */
static void late_sender(void)
{
    if (rank % 2 == 0 && rank + 1 < size) {
        prepare(BASE + ms);
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
        prepare(BASE + ms);
        MPI_Recv(data, BYTES, MPI_BYTE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void late_broadcast(void)
{
    if (!rank) prepare(BASE + ms);
    else compute(BASE);
    MPI_Bcast(data, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
    barrier();
}

static void early_reduce(void)
{
    if (rank) prepare(BASE + ms);
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void at_barrier(void)
{
    compute(BASE);
    if (rank == size - 1) chemistry(ms);
    barrier();
}

/* Every rank works longer than the one before. */
static void at_nxn(void)
{
    compute(BASE);
    chemistry(1.5 * ms * rank / (size - 1));
    reduce_all();
}

static void straggler(void)
{
    compute(BASE);
    chemistry(rank == size / 2 ? 20 + 0.3 * ms : 20);
    reduce_all();
}

static void main_only(void) /* no function of its own for the longer work */
{
    PLANT_WORK(rank == size - 1 ? 20 + 0.4 * ms : 20);
    reduce_all();
}

static void periodic(void)
{
    compute(BASE);
    if (rank == 1 && step % 17 == 16) rebuild_tree(3 * ms);
    reduce_all();
}

static void single_slow(void)
{
    compute(BASE);
    if (rank == 1 && step == steps / 2) rebuild_tree(5 * ms);
    reduce_all();
}

static void drift(void)
{
    compute(BASE + ms * step / steps);
    reduce_all();
}

static void pipeline(void)
{
    if (rank) MPI_Recv(data, BYTES, MPI_BYTE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    chemistry(BASE);
    if (rank + 1 < size) MPI_Send(data, BYTES, MPI_BYTE, rank + 1, 1, MPI_COMM_WORLD);
    barrier();
}

/* The other half of the ranks has nothing to do. */
static void half_idle(void)
{
    if (rank < size / 2) chemistry(ms);
    barrier();
}

/* Each rank exchanges messages with both neighbours in a ring; rank 1 works longer, and all others wait in the end. */
static void halo_exchange(void)
{
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    compute(BASE);
    if (rank == 1) chemistry(ms);
    MPI_Sendrecv(data, BYTES, MPI_BYTE, left, 1, data + BYTES, BYTES, MPI_BYTE, right, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(data, BYTES, MPI_BYTE, right, 2, data + BYTES, BYTES, MPI_BYTE, left, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* The second message is there long before the first one, which the odd ranks want first. */
static void wrong_order(void)
{
    if (rank % 2 == 0 && rank + 1 < size) {
        prepare(BASE);
        MPI_Send(data, BYTES, MPI_BYTE, rank + 1, 2, MPI_COMM_WORLD);
        prepare(BASE);
        MPI_Send(data, BYTES, MPI_BYTE, rank + 1, 1, MPI_COMM_WORLD);
    } else if (rank % 2) {
        for (int tag = 1; tag < 3; tag++) {
            MPI_Recv(data, BYTES, MPI_BYTE, rank - 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            compute(BASE);
        }
    }
    barrier();
}

static void late_scatter(void)
{
    if (!rank) prepare(BASE + ms);
    else compute(BASE);
    MPI_Scatter(data, 1, MPI_BYTE, data + BYTES, 1, MPI_BYTE, 0, MPI_COMM_WORLD);
    barrier();
}

static void early_gather(void)
{
    if (rank) prepare(BASE + ms);
    else compute(BASE);
    MPI_Gather(data, 1, MPI_BYTE, data + BYTES, 1, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void exchange(void) /* non-blocking, with both neighbours of a ring */
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Request request[4];
    MPI_Status status[4];
    MPI_Irecv(data, 100, MPI_BYTE, left, 1, MPI_COMM_WORLD, &request[0]);
    MPI_Irecv(data + 100, 100, MPI_BYTE, right, 2, MPI_COMM_WORLD, &request[1]);
    MPI_Isend(data + 200, 100, MPI_BYTE, right, 1, MPI_COMM_WORLD, &request[2]);
    MPI_Isend(data + 300, 100, MPI_BYTE, left, 2, MPI_COMM_WORLD, &request[3]);
    MPI_Waitall(4, request, status);
}

/* One rank works longer: the waits reach all others through their neighbours. */
static void slow_neighbour(void)
{
    compute(BASE);
    if (rank == 1) chemistry(ms);
    exchange();
}

/* The others ask the first rank for each task, which takes so many ms to prepare one. */
static void hand_out(double preparing)
{
    if (rank) {
        MPI_Send(data, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        MPI_Recv(data, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        compute(BASE);
        return;
    }
    for (int i = 1; i < size; i++) {
        MPI_Status status;
        MPI_Recv(data, 1, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        if (preparing > 0) prepare(preparing);
        MPI_Send(data, 1, MPI_BYTE, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
    }
}

static void master_worker(void) { hand_out(BASE); }

static void healthy_master(void) { hand_out(0); }

static void small_messages(void)
{
    compute(BASE / 5);
    for (int i = 0; i < 500; i++)
        if (rank % 2 == 0 && rank + 1 < size) MPI_Ssend(data, 1, MPI_BYTE, rank + 1, 1, MPI_COMM_WORLD);
        else if (rank % 2) MPI_Recv(data, 1, MPI_BYTE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    reduce_all();
}

static void needless_barriers(void)
{
    compute(BASE / 5);
    for (int i = 0; i < 200; i++) barrier();
}

/* The first rank sends much more than the others. */
static void uneven_volume(void)
{
    static char *much;
    const int bytes = 32 << 20;
    if (!much) much = calloc(1, (size_t)bytes);
    compute(BASE);
    if (!rank)
        for (int to = 1; to < size; to++) MPI_Send(much, bytes, MPI_BYTE, to, 1, MPI_COMM_WORLD);
    else MPI_Recv(much, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    reduce_all();
}

/* The root waits for the last rank, and all others for the root. */
static void late_reduce(void)
{
    compute(BASE);
    if (rank == size - 1) prepare(ms);
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Bcast(&total, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

/* The first rank asks for the length of each message before it receives the message. */
static void probed(void)
{
    compute(BASE);
    if (rank == size - 1) chemistry(ms);
    if (rank) MPI_Send(data, rank, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    else
        for (int i = 1, length; i < size; i++) {
            MPI_Status status;
            MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_BYTE, &length);
            MPI_Recv(data, length, MPI_BYTE, status.MPI_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    barrier();
}

/* The odd ranks look again and again whether the message is there. */
static void polled(void)
{
    if (rank % 2 == 0 && rank + 1 < size) {
        prepare(BASE + ms);
        MPI_Send(data, BYTES, MPI_BYTE, rank + 1, 1, MPI_COMM_WORLD);
    } else if (rank % 2) {
        MPI_Request request;
        int is_there = 0;
        MPI_Irecv(data, BYTES, MPI_BYTE, rank - 1, 1, MPI_COMM_WORLD, &request);
        compute(BASE);
        while (!is_there) MPI_Test(&request, &is_there, MPI_STATUS_IGNORE);
    }
}

/* They sleep for half a millisecond before they look again, by a helper. */
static int look(MPI_Request *request)
{
    int is_there;
    MPI_Test(request, &is_there, MPI_STATUS_IGNORE);
    if (!is_there) usleep(500);
    return is_there;
}

static void polled_with_naps(void)
{
    if (rank % 2 == 0 && rank + 1 < size) {
        prepare(BASE + ms);
        MPI_Send(data, BYTES, MPI_BYTE, rank + 1, 1, MPI_COMM_WORLD);
    } else if (rank % 2) {
        MPI_Request request;
        MPI_Irecv(data, BYTES, MPI_BYTE, rank - 1, 1, MPI_COMM_WORLD, &request);
        compute(BASE);
        while (!look(&request)) {}
    }
}

/* The first rank receives from the slowest one first, and only then handles the messages of the others. */
static void slowest_first(void)
{
    double got = 0;
    if (rank) {
        rank == 1 ? prepare(BASE + 2 * ms) : compute(BASE);
        MPI_Send(data, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    } else
        for (int from = 1; from < size; from++) {
            MPI_Recv(data, BYTES, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            chemistry(ms / 4);
        }
    MPI_Bcast(&got, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

/* The ranks write one after the other, in each fifth step. */
static void ordered_output(void)
{
    compute(1.5 * BASE);
    barrier();
    if (step % 5 < 4) return;
    if (rank) MPI_Recv(data, 1, MPI_BYTE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    write_block(ms / 2);
    if (rank + 1 < size) MPI_Send(data, 1, MPI_BYTE, rank + 1, 1, MPI_COMM_WORLD);
    barrier();
}

static void assemble(void) { PLANT_WORK(rank == 1 ? 20 + 0.6 * ms : 20); }

static void inlined(void) /* the compiler inlines the function that takes longer */
{
    assemble();
    reduce_all();
}

static void slower(void)
{
    compute(step < 3 * steps / 5 ? 2 * BASE : 1.4 * 2 * BASE);
    reduce_all();
}

/* Two parts of the program after each other, the second one with longer steps. */
static void healthy_phases(void)
{
    if (step < steps / 2) compute(2 * BASE);
    else chemistry(3 * BASE);
    reduce_all();
}

/* A solver's iterations in each step, after work that no iteration has. */
static void healthy_solver(void)
{
    prepare(2 * BASE);
    for (int i = 0; i < 10; i++) {
        compute(BASE / 2);
        reduce_all();
    }
}

static void healthy_ring(void)
{
    compute(BASE + ms);
    exchange();
}

static void healthy_collectives(void)
{
    compute(BASE + ms);
    MPI_Bcast(data, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    barrier();
}

static void healthy_messages(void)
{
    compute(BASE + ms);
    if (rank % 2 == 0 && rank + 1 < size) MPI_Send(data, BYTES, MPI_BYTE, rank + 1, 1, MPI_COMM_WORLD);
    else if (rank % 2) MPI_Recv(data, BYTES, MPI_BYTE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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
    PROPERTY(late_sender),
    PROPERTY(late_receiver),
    PROPERTY(late_broadcast),
    PROPERTY(early_reduce),
    PROPERTY(at_barrier),
    PROPERTY(at_nxn),
    PROPERTY(straggler),
    PROPERTY(main_only),
    PROPERTY(periodic),
    PROPERTY(single_slow),
    PROPERTY(drift),
    PROPERTY(pipeline),
    PROPERTY(healthy),
    PROPERTY(wrong_order),
    PROPERTY(late_scatter),
    PROPERTY(early_gather),
    PROPERTY(slow_neighbour),
    PROPERTY(master_worker),
    PROPERTY(healthy_master),
    PROPERTY(small_messages),
    PROPERTY(needless_barriers),
    PROPERTY(halo_exchange),
    PROPERTY(half_idle),
    PROPERTY(uneven_volume),
    PROPERTY(healthy_ring),
    PROPERTY(healthy_collectives),
    PROPERTY(healthy_messages),
    PROPERTY(late_reduce),
    PROPERTY(probed),
    PROPERTY(polled),
    PROPERTY(polled_with_naps),
    PROPERTY(slowest_first),
    PROPERTY(ordered_output),
    PROPERTY(inlined),
    PROPERTY(slower),
    PROPERTY(healthy_phases),
    PROPERTY(healthy_solver),
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2) steps = atoi(argv[2]);
    if (argc > 3) ms = atof(argv[3]);
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (!strcmp(argv[1], properties[i].name))
            for (step = 0; step < steps; step++) properties[i].one_step();
    MPI_Finalize();
}
