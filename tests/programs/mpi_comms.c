/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators created in every way, on 4 ranks. On each one a ring message with a tag of its own. */
#include <mpi.h>

#define W MPI_COMM_WORLD

static int rank;

static void ring(MPI_Comm comm, int tag)
{
    int me, n, in;
    if (comm == MPI_COMM_NULL) return;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % n, tag, &in, 1, MPI_INT, (me + n - 1) % n, tag, comm, MPI_STATUS_IGNORE);
}

static void intra(void)
{
    MPI_Comm c, d;
    MPI_Group all, some;
    const int low[] = {0, 2};
    MPI_Comm_dup(W, &c);
    MPI_Comm_set_name(c, "twin");
    ring(c, 1);
    MPI_Comm_split(c, rank % 2, -rank, &d);
    ring(d, 2);
    MPI_Comm_free(&d);
    MPI_Comm_split(c, rank == 3 ? MPI_UNDEFINED : 0, 0, &d);
    ring(d, 3);
    if (d != MPI_COMM_NULL) MPI_Comm_free(&d);
    MPI_Comm_split_type(W, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &d);
    ring(d, 4);
    MPI_Comm_disconnect(&d);
    MPI_Comm_group(W, &all);
    MPI_Group_incl(all, 2, low, &some);
    MPI_Comm_create(W, some, &d);
    ring(d, 5);
    if (d != MPI_COMM_NULL) MPI_Comm_free(&d);
    if (rank % 2 == 0) {
        MPI_Comm_create_group(W, some, 17, &d);
        ring(d, 6);
        MPI_Comm_free(&d);
    }
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    MPI_Comm_free(&c);
    ring(MPI_COMM_SELF, 7);
}

static void topologies(void)
{
    MPI_Comm grid, row, graph;
    const int dims[] = {2, 2}, periods[] = {1, 0}, keep[] = {0, 1}, index[] = {1, 2, 3, 4}, edges[] = {1, 0, 3, 2};
    const int left[] = {(rank + 3) % 4}, right[] = {(rank + 1) % 4};
    MPI_Cart_create(W, 2, dims, periods, 0, &grid);
    ring(grid, 10);
    MPI_Cart_sub(grid, keep, &row);
    ring(row, 11);
    MPI_Comm_free(&row);
    MPI_Comm_free(&grid);
    MPI_Graph_create(W, 4, index, edges, 0, &graph);
    ring(graph, 12);
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create_adjacent(W, 1, left, MPI_UNWEIGHTED, 1, right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    ring(graph, 13);
    MPI_Comm_free(&graph);
}

static void inter(void)
{
    MPI_Comm half, across, merged;
    int in, out = rank, me;
    const int upper = rank >= 2;
    MPI_Comm_split(W, upper, rank, &half);
    MPI_Intercomm_create(half, 0, W, upper ? 0 : 2, 21, &across);
    MPI_Comm_rank(across, &me);
    MPI_Sendrecv(&out, 1, MPI_INT, me, 20, &in, 1, MPI_INT, me, 20, across, MPI_STATUS_IGNORE);
    const int root = upper ? 1 : rank == 1 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Bcast(&out, 3, MPI_INT, root, across);
    MPI_Allreduce(&out, &in, 2, MPI_INT, MPI_SUM, across);
    MPI_Intercomm_merge(across, upper, &merged);
    ring(merged, 22);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&across);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    MPI_Comm c;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    intra();
    topologies();
    inter();
    for (int i = 0; i < 500; i++) {
        MPI_Comm_dup(W, &c);
        if (i % 100 == 0) ring(c, 30);
        MPI_Comm_free(&c);
    }
    /* created without a wrapper */
    PMPI_Comm_dup(W, &c);
    ring(c, 31);
    MPI_Comm_free(&c);
    MPI_Finalize();
    return 0;
}
