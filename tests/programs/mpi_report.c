/* SPDX-License-Identifier: BSD-3-Clause */
/* For the mpiP report: calls whose counts and bytes follow from the number of ranks. Each line with a comment "site: NAME"
   makes MPI calls; tests look the lines up by NAME. */
#include <mpi.h>
#include "program.h"

#define MOST 64

static int rank, size;
static char data[1 << 16], other[1 << 16];

static void messages(void)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Request request;
    for (int i = 0; i < 4; i++) {
        MPI_Irecv(other, 4096, MPI_CHAR, left, i, MPI_COMM_WORLD, &request); /* site: irecv */
        MPI_Send(data, 100 * (i + 1), MPI_CHAR, right, i, MPI_COMM_WORLD);   /* site: send */
        MPI_Wait(&request, MPI_STATUS_IGNORE);                               /* site: wait */
    }
    MPI_Sendrecv(data, 10, MPI_INT, right, 9, other, 10, MPI_INT, left, 9, MPI_COMM_WORLD, /* site: sendrecv */
                 MPI_STATUS_IGNORE);
    if (rank == 0) MPI_Ssend(data, 5000, MPI_CHAR, 1, 8, MPI_COMM_WORLD);                   /* site: ssend */
    if (rank == 1) MPI_Recv(other, 5000, MPI_CHAR, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* site: recv */
}

static void collectives(void)
{
    int counts[MOST], offsets[MOST];
    for (int i = 0; i < size; i++) counts[i] = 8, offsets[i] = 8 * i;
    MPI_Barrier(MPI_COMM_WORLD);                                                                  /* site: barrier */
    for (int i = 0; i < 3; i++) MPI_Bcast(data, 16 << i, MPI_CHAR, 0, MPI_COMM_WORLD);            /* site: bcast */
    MPI_Gather(data, 12, MPI_CHAR, other, 12, MPI_CHAR, 1, MPI_COMM_WORLD);                       /* site: gather */
    MPI_Scatter(data, 7, MPI_CHAR, other, 7, MPI_CHAR, 0, MPI_COMM_WORLD);                        /* site: scatter */
    MPI_Allgather(data, 3, MPI_INT, other, 3, MPI_INT, MPI_COMM_WORLD);                           /* site: allgather */
    MPI_Allgatherv(data, 8, MPI_CHAR, other, counts, offsets, MPI_CHAR, MPI_COMM_WORLD);          /* site: allgatherv */
    MPI_Alltoall(data, 5, MPI_INT, other, 5, MPI_INT, MPI_COMM_WORLD);                            /* site: alltoall */
    MPI_Alltoallv(data, counts, offsets, MPI_CHAR, other, counts, offsets, MPI_CHAR, MPI_COMM_WORLD); /* site: alltoallv */
    MPI_Reduce(data, other, 6, MPI_INT, MPI_SUM, 2, MPI_COMM_WORLD);                              /* site: reduce */
    MPI_Allreduce(data, other, 9, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);                           /* site: allreduce */
    MPI_Scan(data, other, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);                                   /* site: scan */
    MPI_Allreduce(data, other, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);                               /* site: alone */
}

static void files(const char *name)
{
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);     /* site: open */
    for (int i = 0; i < 2; i++)
        MPI_File_write_at(file, 1000 * rank + 200 * i, data, 200, MPI_CHAR, MPI_STATUS_IGNORE); /* site: write */
    MPI_File_read_at(file, 1000 * rank, data, 100 + rank, MPI_CHAR, MPI_STATUS_IGNORE);             /* site: read */
    MPI_File_close(&file);                                                                          /* site: close */
}

static void windows(void)
{
    MPI_Win window;
    int right = (rank + 1) % size;
    MPI_Win_create(other, sizeof other, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);                  /* site: win */
    MPI_Win_fence(0, window);                                                                        /* site: fence */
    MPI_Put(data, 48, MPI_CHAR, right, 0, 48, MPI_CHAR, window);                                     /* site: put */
    MPI_Get(data + 128, 4, MPI_DOUBLE, right, 512, 4, MPI_DOUBLE, window);                           /* site: get */
    MPI_Accumulate(data, 2, MPI_INT, right, 1024, 2, MPI_INT, MPI_SUM, window);                      /* site: accumulate */
    MPI_Win_fence(0, window);                                                                        /* site: last */
    MPI_Win_free(&window);                                                                           /* site: free */
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank); /* site: rank */
    MPI_Comm_size(MPI_COMM_WORLD, &size); /* site: size */
    messages();
    collectives();
    if (argc > 1) files(argv[1]);
    if (argc > 1) windows();
    MPI_Finalize();
    return 0;
}
