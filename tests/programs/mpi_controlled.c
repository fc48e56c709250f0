/* SPDX-License-Identifier: BSD-3-Clause */
/* Levels of MPI_Pcontrol for mpiP: 3 barriers, data anew, 5 barriers, a verbose report, 7 allreduces, a concise report,
   2 barriers. */
#include <mpi.h>

static void barriers(int n)
{
    while (n--) MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    barriers(3);
    MPI_Pcontrol(2);
    barriers(5);
    MPI_Pcontrol(3);
    double x = 1, y;
    for (int i = 0; i < 7; i++) MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Pcontrol(4);
    barriers(2);
    MPI_Pcontrol(9); /* no level of mpiP */
    MPI_Finalize();
    return 0;
}
