/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_chemistry STEPS: the last rank computes three times as long in chemistry, which is inlined into main. */
#include <math.h>
#include <mpi.h>
#include <stdlib.h>

static double chemistry(double x, int n)
{
    for (int k = 0; k < n; k++) x = sin(x + k);
    return x;
}

int main(int argc, char **argv)
{
    int rank, size, steps = argc > 1 ? atoi(argv[1]) : 1;
    double sum = 0, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < steps; i++) {
        sum += chemistry(i, rank == size - 1 ? 6000000 : 2000000);
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return all > 1e9;
}
