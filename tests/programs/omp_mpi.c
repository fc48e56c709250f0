/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ranks of two threads: thread i exchanges N messages with thread i of the other rank, with tag i. */
#include <mpi.h>
#include <omp.h>
#include "program.h"

int main(int argc, char **argv)
{
    int level, rank, n = argc > 1 ? atoi(argv[1]) : 10, sum = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level < MPI_THREAD_MULTIPLE) {
        fprintf(stderr, "no MPI_THREAD_MULTIPLE\n");
        MPI_Abort(MPI_COMM_WORLD, 77);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < n; i++) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
        {
            int tag = omp_get_thread_num(), out = i, in = 0;
            MPI_Sendrecv(&out, 1, MPI_INT, !rank, tag, &in, 1, MPI_INT, !rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            sum += in;
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!rank) printf("%d\n", sum);
    MPI_Finalize();
    return 0;
}
