/* SPDX-License-Identifier: BSD-3-Clause */
/* The distribution of the grid, and the communication between neighbours. */
#include "heat.h"

#include <stdio.h>
#include <stdlib.h>

/* The part of process `index` of `count` when n cells are distributed. Returns its first cell and stores the number of
   cells in size. */
static int part(int n, int count, int index, int *size)
{
    int begin = (int)((long)n * index / count);
    *size = (int)((long)n * (index + 1) / count) - begin;
    return begin;
}

void grid_create(struct grid *g, int cells)
{
    int processes, rank, dims[2] = {0, 0}, periodic[2] = {0, 0}, place[2];
    char name[32];
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    MPI_Dims_create(processes, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periodic, 1, &g->comm);
    MPI_Comm_set_name(g->comm, "heat grid");
    MPI_Comm_rank(g->comm, &rank);
    MPI_Cart_coords(g->comm, rank, 2, place);
    MPI_Cart_shift(g->comm, 0, 1, &g->north, &g->south);
    MPI_Cart_shift(g->comm, 1, 1, &g->west, &g->east);
    MPI_Comm_split(g->comm, place[0], place[1], &g->row_comm);
    snprintf(name, sizeof name, "row %d", place[0]);
    MPI_Comm_set_name(g->row_comm, name);

    g->cells = cells;
    g->row0 = part(cells, dims[0], place[0], &g->rows);
    g->column0 = part(cells, dims[1], place[1], &g->columns);
    size_t values = (size_t)(g->rows + 2) * (size_t)(g->columns + 2);
    g->now = calloc(values, sizeof *g->now);
    g->next = calloc(values, sizeof *g->next);
    if (!g->now || !g->next) {
        fprintf(stderr, "heat2d: no memory for %d x %d cells\n", g->rows, g->columns);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Type_vector(g->rows, 1, g->columns + 2, MPI_DOUBLE, &g->column);
    MPI_Type_commit(&g->column);
}

void grid_free(struct grid *g)
{
    MPI_Type_free(&g->column);
    MPI_Comm_free(&g->row_comm);
    MPI_Comm_free(&g->comm);
    free(g->now);
    free(g->next);
}

/* Sends the outermost own cells to the four neighbours and receives their cells into the border. */
void exchange_halo(struct grid *g)
{
    enum { NORTHWARD, SOUTHWARD, WESTWARD, EASTWARD };
    int n = g->rows, m = g->columns;
    double *u = g->now;
    MPI_Request requests[8];
    MPI_Irecv(&u[at(g, 0, 1)], m, MPI_DOUBLE, g->north, SOUTHWARD, g->comm, &requests[0]);
    MPI_Irecv(&u[at(g, n + 1, 1)], m, MPI_DOUBLE, g->south, NORTHWARD, g->comm, &requests[1]);
    MPI_Irecv(&u[at(g, 1, 0)], 1, g->column, g->west, EASTWARD, g->comm, &requests[2]);
    MPI_Irecv(&u[at(g, 1, m + 1)], 1, g->column, g->east, WESTWARD, g->comm, &requests[3]);
    MPI_Isend(&u[at(g, 1, 1)], m, MPI_DOUBLE, g->north, NORTHWARD, g->comm, &requests[4]);
    MPI_Isend(&u[at(g, n, 1)], m, MPI_DOUBLE, g->south, SOUTHWARD, g->comm, &requests[5]);
    MPI_Isend(&u[at(g, 1, 1)], 1, g->column, g->west, WESTWARD, g->comm, &requests[6]);
    MPI_Isend(&u[at(g, 1, m)], 1, g->column, g->east, EASTWARD, g->comm, &requests[7]);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
}

/* The heat in the rows of this process. The result is valid in the westernmost process only, 0 elsewhere. */
double sum_of_rows(const struct grid *g)
{
    double own = 0, all = 0;
    for (int i = 1; i <= g->rows; i++)
        for (int j = 1; j <= g->columns; j++) own += g->now[at(g, i, j)];
    MPI_Reduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, 0, g->row_comm);
    return all;
}
