/* SPDX-License-Identifier: BSD-3-Clause */
/* Four ranks make grids of one, two and four dimensions, and one of these twice. Each rank prints number, rank and the
   first three coordinates in each grid, -1 for dimensions that the grid lacks. */
#include <mpi.h>
#include <stdio.h>

static MPI_Comm grid(int number, int n, const int *lengths, const int *periodic)
{
    MPI_Comm made;
    int place[4] = {-1, -1, -1, -1}, own;
    MPI_Cart_create(MPI_COMM_WORLD, n, lengths, periodic, 0, &made);
    MPI_Comm_rank(made, &own);
    MPI_Cart_coords(made, own, n, place);
    if (number >= 0) printf("%d %d %d %d %d\n", number, own, place[0], place[1], place[2]);
    fflush(stdout);
    return made;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm plane = grid(0, 2, (int[]){2, 2}, (int[]){1, 0});
    MPI_Comm_set_name(plane, "plane");
    MPI_Comm line = grid(1, 1, (int[]){4}, (int[]){0});
    MPI_Comm deep = grid(2, 4, (int[]){1, 2, 2, 1}, (int[]){0, 1, 0, 1});
    MPI_Comm again = grid(-1, 1, (int[]){4}, (int[]){0});
    MPI_Comm_free(&plane);
    MPI_Comm_free(&line);
    MPI_Comm_free(&deep);
    MPI_Comm_free(&again);
    MPI_Finalize();
    return 0;
}
