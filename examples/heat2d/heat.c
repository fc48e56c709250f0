/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves the heat equation u_t = u_xx + u_yy on the unit square with cold edges, by explicit time steps. The start
   values are sin(pi x) sin(pi y). The discrete solution is then known exactly and the result is checked.
   usage: heat2d [CELLS [STEPS]] */
#include "heat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define RATIO 0.2 /* time step divided by the square of the cell size; stable up to 0.25 */
#define REPORT_EVERY 25
static const double PI = 3.14159265358979323846;

/* The exact solution after the start values have been multiplied by factor. */
static void fill(const struct grid *g, double factor, double *values)
{
    double h = 1.0 / (g->cells + 1);
    for (int i = 1; i <= g->rows; i++) {
        double y = sin(PI * h * (g->row0 + i));
        for (int j = 1; j <= g->columns; j++) values[at(g, i, j)] = factor * y * sin(PI * h * (g->column0 + j));
    }
}

/* One time step. Returns the sum of the squares of all changes in this process. */
static double update(struct grid *g)
{
    double change = 0;
    for (int i = 1; i <= g->rows; i++) {
        const double *u = &g->now[at(g, i, 0)], *up = u - (g->columns + 2), *down = u + (g->columns + 2);
        double *v = &g->next[at(g, i, 0)];
        for (int j = 1; j <= g->columns; j++) {
            double d = RATIO * (up[j] + down[j] + u[j - 1] + u[j + 1] - 4 * u[j]);
            v[j] = u[j] + d;
            change += d * d;
        }
    }
    double *other = g->now;
    g->now = g->next;
    g->next = other;
    return change;
}

/* Root mean square of the change in a step, over the whole grid. */
static double residual(const struct grid *g, double change)
{
    double all;
    MPI_Allreduce(&change, &all, 1, MPI_DOUBLE, MPI_SUM, g->comm);
    return sqrt(all) / g->cells;
}

static double solve(struct grid *g, int steps)
{
    double last = 0;
    int rank;
    MPI_Comm_rank(g->comm, &rank);
    for (int step = 1; step <= steps; step++) {
        exchange_halo(g);
        last = residual(g, update(g));
        if (step % REPORT_EVERY == 0) {
            double heat = sum_of_rows(g);
            if (rank == 0) printf("step %5d  residual %.6e  heat of the first rows %.6f\n", step, last, heat);
        }
    }
    return last;
}

/* Largest difference to the exact solution, in which each step multiplies all values by the same factor. */
static double largest_error(struct grid *g, int steps)
{
    double own = 0, all;
    fill(g, pow(1 - 4 * RATIO * (1 - cos(PI / (g->cells + 1))), steps), g->next);
    for (int i = 1; i <= g->rows; i++)
        for (int j = 1; j <= g->columns; j++) own = fmax(own, fabs(g->now[at(g, i, j)] - g->next[at(g, i, j)]));
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, g->comm);
    return all;
}

int main(int argc, char **argv)
{
    int rank, size[2] = {400, 100};
    struct grid g;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        for (int i = 0; i < 2 && i + 1 < argc; i++) size[i] = atoi(argv[i + 1]);
    MPI_Bcast(size, 2, MPI_INT, 0, MPI_COMM_WORLD);
    if (size[0] < 1 || size[1] < 1) {
        if (rank == 0) fprintf(stderr, "usage: heat2d [CELLS [STEPS]]\n");
        MPI_Finalize();
        return 2;
    }
    grid_create(&g, size[0]);
    fill(&g, 1, g.now);
    double last = solve(&g, size[1]);
    double error = largest_error(&g, size[1]);
    if (rank == 0)
        printf("%d x %d cells, %d steps: residual %.6e, largest error %.1e: %s\n", size[0], size[0], size[1], last,
               error, error < 1e-10 ? "ok" : "WRONG");
    grid_free(&g);
    MPI_Finalize();
    return error < 1e-10 ? 0 : 1;
}
