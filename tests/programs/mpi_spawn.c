/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ranks start two children, which start one of their own with other arguments. Parents and children communicate by
   the inter-communicator and by a merged one. */
#include <mpi.h>
#include "program.h"

static int rank;

/* Each rank with the rank of the same number on the other side; then all in a ring. */
static void talk(MPI_Comm across, int high, int tag)
{
    MPI_Comm all, twin;
    int in, me, n;
    MPI_Comm_rank(across, &me);
    MPI_Comm_remote_size(across, &n);
    if (me < n) MPI_Sendrecv(&me, 1, MPI_INT, me, tag, &in, 1, MPI_INT, me, tag, across, MPI_STATUS_IGNORE);
    MPI_Intercomm_merge(across, high, &all);
    MPI_Comm_dup(all, &twin);
    MPI_Comm_rank(twin, &me);
    MPI_Comm_size(twin, &n);
    MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % n, tag + 1, &in, 1, MPI_INT, (me + n - 1) % n, tag + 1, twin,
                 MPI_STATUS_IGNORE);
    MPI_Comm_free(&twin);
    MPI_Comm_split(all, me % 2, 0, &twin);
    MPI_Comm_rank(twin, &me);
    MPI_Comm_size(twin, &n);
    MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % n, tag + 2, &in, 1, MPI_INT, (me + n - 1) % n, tag + 2, twin,
                 MPI_STATUS_IGNORE);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&all);
}

int main(int argc, char **argv)
{
    MPI_Comm parent, children;
    int codes[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    const int level = argc > 1 ? atoi(argv[1]) : 0;
    if (parent != MPI_COMM_NULL) talk(parent, 1, 10 * level);
    if (level == 0) {
        char *arguments[] = {"1", "two words", NULL};
        MPI_Comm_spawn(argv[0], arguments, 2, MPI_INFO_NULL, 1, MPI_COMM_WORLD, &children, codes);
        talk(children, 0, 10);
        MPI_Comm_disconnect(&children);
        printf("rank %d: %d %d\n", rank, codes[0], codes[1]);
    } else if (level == 1) {
        char *commands[] = {argv[0]}, *arguments[] = {"2", NULL}, **all[] = {arguments};
        const int n[] = {1};
        const MPI_Info infos[] = {MPI_INFO_NULL};
        MPI_Comm_spawn_multiple(1, commands, all, n, infos, 0, MPI_COMM_WORLD, &children, codes);
        talk(children, 0, 20);
        MPI_Comm_disconnect(&children);
        if (argc != 3 || strcmp(argv[2], "two words")) return 1;
    }
    if (parent != MPI_COMM_NULL) MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
}
