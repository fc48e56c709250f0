/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Pcontrol switches recording off and on, on 2 ranks: regions are entered in one state and left in the other;
   requests start in one state and end in the other. */
#include <mpi.h>

static int rank, other, in, out;

static void step(int tag)
{
    MPI_Sendrecv(&out, 1, MPI_INT, other, tag, &in, 1, MPI_INT, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Entered on, left off. */
static void stops(void)
{
    step(1);
    MPI_Pcontrol(0);
    step(2);
}

/* Entered off, left on. */
static void begins(void)
{
    step(3);
    MPI_Pcontrol(1);
    step(4);
}

int main(int argc, char **argv)
{
    MPI_Request across, hidden;
    MPI_Comm twin;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    MPI_Irecv(&in, 1, MPI_INT, other, 11, MPI_COMM_WORLD, &across);
    stops();
    MPI_Pcontrol(0);
    MPI_Pcontrol(7);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Send(&out, 1, MPI_INT, other, 11, MPI_COMM_WORLD);
    MPI_Wait(&across, MPI_STATUS_IGNORE);
    MPI_Irecv(&in, 1, MPI_INT, other, 12, MPI_COMM_WORLD, &hidden);
    begins();
    MPI_Pcontrol(1);
    MPI_Pcontrol(5, "more");
    MPI_Send(&out, 1, MPI_INT, other, 12, twin == MPI_COMM_NULL ? twin : MPI_COMM_WORLD);
    MPI_Wait(&hidden, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&out, 1, MPI_INT, other, 5, &in, 1, MPI_INT, other, 5, twin, MPI_STATUS_IGNORE);
    MPI_Comm_free(&twin);
    MPI_Finalize();
    return 0;
}
