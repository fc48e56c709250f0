/* SPDX-License-Identifier: BSD-3-Clause */
/* Relaxes the rows of a grid on all ranks. The rows are divided badly: the last rank also takes the remainder of
   several blocks. Compile with -DMENDED for an even division. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1150, COLUMNS = 400, BLOCK = 100, STEPS = 60 };

double relax(double *row, int count)
{
    double change = 0;
    for (int pass = 0; pass < 4; pass++)
        for (int i = 1; i < count - 1; i++) {
            double next = 0.25 * (row[i - 1] + 2 * row[i] + row[i + 1]);
            change += (next - row[i]) * (next - row[i]);
            row[i] = next;
        }
    return change;
}

double relax_rows(double *grid, int rows)
{
    double change = 0;
    for (int row = 0; row < rows; row++) change += relax(grid + (size_t)row * COLUMNS, COLUMNS);
    return change;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
#ifdef MENDED
    int rows = ROWS / size + (rank < ROWS % size);
#else
    int rows = ROWS / BLOCK / size / 2 * BLOCK; /* half of the blocks for each rank ... */
    if (rank == size - 1) rows = ROWS - rows * (size - 1); /* ... and all remaining blocks for the last rank */
#endif
    double *grid = calloc((size_t)rows * COLUMNS, sizeof *grid), change = 1;
    for (int i = 0; i < rows * COLUMNS; i++) grid[i] = i % 97;
    for (int step = 0; step < STEPS; step++) {
        double own = relax_rows(grid, rows);
        MPI_Allreduce(&own, &change, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (!rank) printf("change %g\n", change);
    free(grid);
    MPI_Finalize();
    return 0;
}
