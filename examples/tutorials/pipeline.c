/* SPDX-License-Identifier: BSD-3-Clause */
/* Filters pictures in stages, a rank for each stage: a stage receives the picture of the previous stage, filters it and
   sends it on. Large pictures pass one after the other with blocking sends, so only one rank works at a time. Compile
   with -DMENDED to send the picture in strips. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1200, COLUMNS = 800, PICTURES = 2 };
#ifdef MENDED
enum { STRIP = 30 };
#else
enum { STRIP = ROWS };
#endif

void filter(float *strip, int rows)
{
    for (int pass = 0; pass < 60; pass++)
        for (int i = 1; i < rows * COLUMNS - 1; i++) strip[i] = 0.5f * strip[i] + 0.25f * (strip[i - 1] + strip[i + 1]);
}

void hand_on(float *strip, int to)
{
    MPI_Ssend(strip, STRIP * COLUMNS, MPI_FLOAT, to, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    float *strip = calloc((size_t)STRIP * COLUMNS, sizeof *strip);
    for (int at = 0; at < PICTURES * ROWS; at += STRIP) {
        if (rank) MPI_Recv(strip, STRIP * COLUMNS, MPI_FLOAT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        filter(strip, STRIP);
        if (rank < size - 1) hand_on(strip, rank + 1);
        if (at % ROWS + STRIP == ROWS) MPI_Barrier(MPI_COMM_WORLD); /* the next picture starts when this one is done */
    }
    if (!rank) puts("done");
    free(strip);
    MPI_Finalize();
    return 0;
}
