/* SPDX-License-Identifier: BSD-3-Clause */
/* Each process has a rectangle of the grid, with a border of one cell for the values of its neighbours. */
#ifndef HEAT_H
#define HEAT_H

#include <mpi.h>

struct grid {
    int cells;           /* inner cells of the whole square, in each direction */
    int rows, columns;   /* inner cells of this process */
    int row0, column0;   /* first row and column in the whole square */
    double *now, *next;  /* (rows + 2) * (columns + 2) values */
    MPI_Comm comm;       /* all processes, as a rectangle */
    MPI_Comm row_comm;   /* the processes with the same rows */
    MPI_Datatype column; /* one column of this process's cells */
    int north, south, west, east; /* neighbours in comm, MPI_PROC_NULL at the edge */
};

/* Index of a cell. Not recorded, since it is short and called very often. */
__attribute__((no_instrument_function)) static inline int at(const struct grid *g, int row, int column)
{
    return row * (g->columns + 2) + column;
}

void grid_create(struct grid *g, int cells);
void grid_free(struct grid *g);
void exchange_halo(struct grid *g);
double sum_of_rows(const struct grid *g);

#endif
