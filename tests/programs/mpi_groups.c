/* SPDX-License-Identifier: BSD-3-Clause */
/* One function of many groups of MPI functions, before and after a message. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, n, size, flag, out = 0, in;
    const int periods[] = {1};
    MPI_Comm twin, ring;
    MPI_Request request;
    MPI_Info info;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &flag);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Comm_set_name(twin, "twin");
    MPI_Comm_rank(twin, &rank);
    PMPI_Comm_size(twin, &n);
    MPI_Cart_create(twin, 1, &n, periods, 0, &ring);
    MPI_Bcast(&out, 1, MPI_INT, 0, twin);
    MPI_Isend(&out, 1, MPI_INT, (rank + 1) % n, 1, twin, &request);
    MPI_Recv(&in, 1, MPI_INT, (rank + n - 1) % n, 1, twin, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    PMPI_Irecv(&in, 1, MPI_INT, (rank + n - 1) % n, 2, twin, &request);
    MPI_Send(&out, 1, MPI_INT, (rank + 1) % n, 2, twin);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_size(MPI_INT, &size);
    MPI_Info_create(&info);
    MPI_Info_free(&info);
    MPI_Initialized(&flag);
    MPI_Finalized(&flag);
    if (MPI_Wtime() < 0 || MPI_Wtick() <= 0) return 1;
    MPI_Comm_free(&ring);
    MPI_Comm_free(&twin);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
