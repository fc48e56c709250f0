/* SPDX-License-Identifier: BSD-3-Clause */
/* Newer functions that create communicators, on 4 ranks, and many of them. On each one a ring message with a tag of its
   own. Argument: their number. */
#include <mpi.h>
#include <stdlib.h>

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

static void later(void)
{
    MPI_Comm half, c[2];
    MPI_Request requests[2];
    MPI_Comm_split(W, rank / 2, 0, &half);
    MPI_Comm_idup(W, &c[0], &requests[0]);
    MPI_Comm_idup(half, &c[1], &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_set_name(c[1], "later half");
    ring(c[0], 1);
    ring(c[1], 2);
    MPI_Comm_free(&c[1]);
    MPI_Comm_free(&c[0]);
    MPI_Comm_dup_with_info(half, MPI_INFO_NULL, &c[0]);
    ring(c[0], 3);
    MPI_Comm_free(&c[0]);
    MPI_Comm_free(&half);
}

static void graphs(void)
{
    MPI_Comm graph;
    const int me[] = {rank}, one[] = {1}, right[] = {(rank + 1) % 4};
    MPI_Dist_graph_create(W, 1, me, one, right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    ring(graph, 4);
    MPI_Comm_free(&graph);
}

/* On overlapping groups, with tags in any order. */
static void groups(void)
{
    MPI_Comm c;
    MPI_Group all, low, high;
    const int first[] = {0, 1, 2}, last[] = {1, 2, 3};
    MPI_Comm_group(W, &all);
    MPI_Group_incl(all, 3, first, &low);
    MPI_Group_incl(all, 3, last, &high);
    for (int i = 0; i < 3; i++) {
        if (rank < 3) {
            MPI_Comm_create_group(W, low, 7, &c);
            ring(c, 10);
            MPI_Comm_free(&c);
        }
        if (rank > 0) {
            MPI_Comm_create_group(W, high, 7, &c);
            ring(c, 11);
            MPI_Comm_free(&c);
        }
    }
#ifdef FROM_GROUP
    if (rank < 3) {
        MPI_Comm_create_from_group(low, "org.vtrace.low", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &c);
        ring(c, 12);
        MPI_Comm_free(&c);
    }
#endif
    MPI_Group_free(&low);
    MPI_Group_free(&high);
    MPI_Group_free(&all);
}

int main(int argc, char **argv)
{
    MPI_Comm c, d;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    later();
    graphs();
    groups();
    const int many = atoi(argv[1]);
    for (int i = 0; i < many; i++) {
        MPI_Comm_dup(W, &c);
        MPI_Comm_split(c, rank % 2, 0, &d);
        if (i % 10 == 0) ring(d, 20);
        MPI_Comm_free(&d);
        MPI_Comm_free(&c);
    }
    MPI_Finalize();
    return 0;
}
