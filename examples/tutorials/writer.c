/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes a field on all ranks and writes it out as text after each step. Rank 0 gathers the field and writes it for
   all. Compile with -DMENDED: each rank writes its own part to its own file. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 30000, STEPS = 8 };

void advance(double *field, int step)
{
    for (int pass = 0; pass < 40; pass++)
        for (int i = 1; i < COUNT; i++) field[i] = 0.5 * (field[i] + field[i - 1]) + step;
}

void write_out(FILE *file, const double *field, int count)
{
    for (int i = 0; i < count; i++) fprintf(file, "%d %.17g\n", i, field[i]);
    fflush(file);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double *field = calloc(COUNT, sizeof *field), *all = calloc((size_t)COUNT * size, sizeof *all);
    char name[32];
    snprintf(name, sizeof name, "field.%d.txt", rank);
#ifdef MENDED
    FILE *file = fopen(name, "w");
#else
    FILE *file = rank ? NULL : fopen(name, "w");
#endif
    for (int step = 0; step < STEPS; step++) {
        advance(field, step);
#ifdef MENDED
        write_out(file, field, COUNT);
#else
        MPI_Gather(field, COUNT, MPI_DOUBLE, all, COUNT, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (!rank) write_out(file, all, COUNT * size);
#endif
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (file) fclose(file);
    if (!rank) puts("done");
    free(field);
    free(all);
    MPI_Finalize();
    return 0;
}
