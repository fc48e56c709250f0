/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_waits: each function plants one wait of 200 ms. With two ranks rank 1 is late, or rank 0 where a comment says so;
   with three a delay of rank 0 reaches rank 2 through rank 1. Each rank prints the ns at the start of its call that is
   late or waits. */
#include <mpi.h>
#include "program.h"

#define LARGE (4 << 20)

static int rank, other, x, y;
static char *large;

static void late(int who)
{
    const struct timespec t = {0, 200000000};
    if (rank == who) nanosleep(&t, NULL);
}

static void tell(const char *name)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    printf("%s %d %lld\n", name, rank, t.tv_sec * 1000000000ll + t.tv_nsec);
}

static void late_sender(void)
{
    late(1);
    tell(__func__);
    if (rank) MPI_Send(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    else MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void late_sender_waitall(void)
{
    MPI_Request r[2];
    if (!rank) MPI_Irecv(&x, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &r[0]);
    if (!rank) MPI_Irecv(&y, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &r[1]);
    if (rank) MPI_Send(&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    late(1);
    tell(__func__);
    if (rank) MPI_Send(&x, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    else MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void persistent(void)
{
    MPI_Request r;
    if (rank) MPI_Send_init(&x, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &r);
    else MPI_Recv_init(&x, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &r);
    if (!rank) MPI_Start(&r);
    late(1);
    tell(__func__);
    if (rank) MPI_Start(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Request_free(&r);
}

static void sendrecv(void)
{
    late(1);
    tell(__func__);
    MPI_Sendrecv(&x, 1, MPI_INT, other, 5, &y, 1, MPI_INT, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void late_receiver(void)
{
    late(1);
    tell(__func__);
    if (rank) MPI_Recv(large, LARGE, MPI_CHAR, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else MPI_Ssend(large, LARGE, MPI_CHAR, 1, 6, MPI_COMM_WORLD);
}

static void wrong_order(void)
{
    if (rank) MPI_Send(&x, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    late(1);
    tell(__func__);
    if (rank) MPI_Send(&x, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
    else MPI_Recv(&x, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!rank) MPI_Recv(&x, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void barrier(void)
{
    late(1);
    tell(__func__);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(void)
{
    late(1);
    tell(__func__);
    MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void broadcast(void) /* rank 0, the root, is late */
{
    late(0);
    tell(__func__);
    MPI_Bcast(large, LARGE, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static void reduce(void)
{
    late(1);
    tell(__func__);
    MPI_Reduce(&x, &y, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void scan(void) /* rank 0 is late */
{
    late(0);
    tell(__func__);
    MPI_Scan(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void ibarrier(void)
{
    MPI_Request r;
    late(1);
    if (rank) tell(__func__);
    MPI_Ibarrier(MPI_COMM_WORLD, &r);
    if (!rank) tell(__func__);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void fence(void)
{
    MPI_Win w;
    MPI_Win_create(&x, sizeof x, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    MPI_Win_fence(0, w);
    late(1);
    tell(__func__);
    MPI_Win_fence(0, w);
    MPI_Win_free(&w);
}

static MPI_Win window_with_group(MPI_Group *one)
{
    MPI_Group all;
    MPI_Win w;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &other, one);
    MPI_Group_free(&all);
    MPI_Win_create(&x, sizeof x, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    return w;
}

static void late_post(void)
{
    MPI_Group one;
    MPI_Win w = window_with_group(&one);
    late(1);
    tell(__func__);
    if (rank) MPI_Win_post(one, 0, w);
    else MPI_Win_start(one, 0, w);
    if (rank) MPI_Win_wait(w);
    else MPI_Win_complete(w);
    MPI_Win_free(&w);
    MPI_Group_free(&one);
}

static void early_wait(void)
{
    MPI_Group one;
    MPI_Win w = window_with_group(&one);
    if (rank) MPI_Win_start(one, 0, w);
    else MPI_Win_post(one, 0, w);
    late(1);
    tell(__func__);
    if (rank) MPI_Win_complete(w);
    else MPI_Win_wait(w);
    MPI_Win_free(&w);
    MPI_Group_free(&one);
}

static void lock_competition(void)
{
    MPI_Win w;
    MPI_Win_create(&x, sizeof x, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    if (!rank) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w);
    MPI_Barrier(MPI_COMM_WORLD);
    late(0);
    tell(__func__);
    if (rank) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w);
    MPI_Win_unlock(0, w);
    MPI_Win_free(&w);
}

static void chain(void)
{
    late(0);
    tell(__func__);
    if (rank) MPI_Recv(&x, 1, MPI_INT, rank - 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank < 2) MPI_Send(&x, 1, MPI_INT, rank + 1, 9, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static void (*const all[])(void) = {
        late_sender, late_sender_waitall, persistent, sendrecv,        late_receiver, wrong_order,
        barrier,     allreduce,           broadcast,  reduce,          scan,          ibarrier,
        fence,       late_post,           early_wait, lock_competition};
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    large = calloc(LARGE, 1);
    other = 1 - rank;
    for (unsigned i = 0; size == 2 && i < sizeof all / sizeof *all; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        all[i]();
    }
    if (size == 3) MPI_Barrier(MPI_COMM_WORLD);
    if (size == 3) chain();
    MPI_Finalize();
    free(large);
    return 0;
}
