/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank starts the command in its arguments between MPI_Init and MPI_Finalize, without the inherited connection to
   the launcher. Prints its rank and the number of ranks. */
#include <mpi.h>
#include "program.h"

int main(int argc, char **argv)
{
    int rank, size, status = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("rank %d of %d\n", rank, size);
    fflush(stdout);
    for (int fd = 3; fd < 256; fd++) {
        const int flags = fcntl(fd, F_GETFD);
        if (flags >= 0) fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
    }
    if (argc > 1) status = system(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return status != 0;
}
