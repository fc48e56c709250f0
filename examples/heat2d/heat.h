/* SPDX-License-Identifier: BSD-3-Clause */
/* A rectangle of the grid per process, with a border of one cell that holds the neighbours' values. */
#ifndef HEAT_H
#define HEAT_H

#include <mpi.h>

struct grid {
    int cells;           /* inner cells of the whole square, in each direction */
    int rows, columns;   /* inner cells of this process */
    int row0, column0;   /* where they begin in the whole square */
    double *now, *next;  /* (rows + 2) * (columns + 2) values */
    MPI_Comm comm;       /* all processes, as a rectangle */
    MPI_Comm row_comm;   /* those that share the same rows */
    MPI_Datatype column; /* one column of this process's cells */
    int north, south, west, east; /* neighbours in comm, MPI_PROC_NULL at the edge */
};

/* Index of a cell. Too small and too often called to be worth recording. */
__attribute__((no_instrument_function)) static inline int at(const struct grid *g, int row, int column)
{
    return row * (g->columns + 2) + column;
}

void grid_create(struct grid *g, int cells);
void grid_free(struct grid *g);
void exchange_halo(struct grid *g);
double sum_of_rows(const struct grid *g);

#endif
