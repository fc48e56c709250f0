/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_workers: each rank has two threads of its own, which write 6 bytes each to own.RANK.THREAD while MPI runs. */
#include <mpi.h>
#include <cstdio>
#include <string>
#include <thread>

static void work(int rank, int number)
{
    std::string name = "own." + std::to_string(rank) + "." + std::to_string(number);
    FILE *file = fopen(name.c_str(), "w");
    fputs("hello\n", file);
    fclose(file);
}

int main(int argc, char **argv)
{
    int provided, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::thread one(work, rank, 1);
    one.join();
    std::thread two(work, rank, 2);
    two.join();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
