// SPDX-License-Identifier: BSD-3-Clause
// An MPI program in which a new thread of each step exchanges messages while the first thread works: async_of_rank
// PROPERTY. starts_late: the first thread of rank 1 takes 15 ms longer in relax.
#include "work.h"

#include <future>
#include <mpi.h>
#include <string>

WORKER(relax)

static void exchange(int other)
{
    double own = 1, theirs;
    MPI_Sendrecv(&own, 1, MPI_DOUBLE, other, 0, &theirs, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bool is_late = std::string(argv[1]) == "starts_late" && rank == 1;
    for (int step = 0; step < 20; step++) {
        auto exchanged = std::async(std::launch::async, exchange, 1 - rank);
        relax(is_late ? 40 : 25);
        exchanged.get();
    }
    MPI_Finalize();
}
