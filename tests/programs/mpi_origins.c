/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of each origin in one array: send, receive, collective operation, put, write to a file, generalized request,
   and MPI_REQUEST_NULL. Each call that can complete them does so. Then many requests that may share a handle. */
#include <mpi.h>
#include <unistd.h>

#define W MPI_COMM_WORLD
#define N 7
#define MANY 12

static int rank, out[N], in[2], sum, *memory;
static MPI_Win window;
static MPI_File file;

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_BYTE, 5);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int freed(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancelled(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

static void start(MPI_Request *r)
{
    MPI_Irecv(in, 2, MPI_INT, !rank, 7, W, &r[0]);
    MPI_Isend(out, 1, MPI_INT, !rank, 7, W, &r[1]);
    MPI_Iallreduce(out, &sum, 1, MPI_INT, MPI_SUM, W, &r[2]);
    MPI_Rput(out, 3, MPI_INT, !rank, 0, 3, MPI_INT, window, &r[3]);
    MPI_File_iwrite_at(file, 64 * rank, out, 2, MPI_INT, &r[4]);
    MPI_Grequest_start(query, freed, cancelled, NULL, &r[5]);
    MPI_Grequest_complete(r[5]);
    r[6] = MPI_REQUEST_NULL;
}

static void one_after_the_other(MPI_Request *r)
{
    int index, flag, n, indices[N];
    MPI_Status statuses[N];
    start(r);
    MPI_Waitall(N, r, MPI_STATUSES_IGNORE);
    start(r);
    MPI_Waitall(N, r, statuses);
    start(r);
    for (int i = 0; i < N; i++) MPI_Wait(&r[i], MPI_STATUS_IGNORE);
    start(r);
    do MPI_Waitany(N, r, &index, statuses);
    while (index != MPI_UNDEFINED);
    start(r);
    do MPI_Waitsome(N, r, &n, indices, MPI_STATUSES_IGNORE);
    while (n != MPI_UNDEFINED);
    start(r);
    for (int i = 0; i < N; i++)
        for (flag = 0; !flag; usleep(1000)) MPI_Test(&r[i], &flag, MPI_STATUS_IGNORE);
    start(r);
#ifdef MPICH_NUMVERSION /* MPI_Testall of MPICH fails if a request of a file is in the array */
    MPI_Wait(&r[4], MPI_STATUS_IGNORE);
#endif
    for (flag = 0; !flag; usleep(1000)) MPI_Testall(N, r, &flag, MPI_STATUSES_IGNORE);
    start(r);
    for (flag = index = 0; !flag || index != MPI_UNDEFINED; usleep(1000))
        MPI_Testany(N, r, &index, &flag, MPI_STATUS_IGNORE);
    start(r);
    for (n = 0; n != MPI_UNDEFINED; usleep(1000)) MPI_Testsome(N, r, &n, indices, statuses);
}

/* Libraries use one handle for all operations that complete at once, like those of a process with itself. */
static void shared(void)
{
    MPI_Request r[3 * MANY];
    int a[MANY], b[MANY], flag;
    for (int i = 0; i < MANY; i++) {
        MPI_Iallreduce(&a[i], &b[i], 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, &r[3 * i]);
        MPI_Ibarrier(MPI_COMM_SELF, &r[3 * i + 1]);
        MPI_Isend(&a[i], 1, MPI_INT, MPI_PROC_NULL, 9, W, &r[3 * i + 2]);
    }
    MPI_Request_get_status(r[0], &flag, MPI_STATUS_IGNORE);
    MPI_Waitall(3 * MANY, r, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Request r[N];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, W, &memory, &window);
    MPI_File_open(W, "written", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_Win_lock_all(0, window);
    one_after_the_other(r);
    MPI_Win_unlock_all(window);
    shared();
    MPI_File_close(&file);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
