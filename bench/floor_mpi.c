/* SPDX-License-Identifier: BSD-3-Clause */
/* The floor of an MPI call: wrappers that only read the clock before and after the call. */
#include <mpi.h>
#include <stdint.h>
#include "now.h"

static volatile uint64_t sink;

int MPI_Allreduce(const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c)
{
    sink = now();
    int result = PMPI_Allreduce(s, r, n, t, o, c);
    sink = now();
    return result;
}

int MPI_Sendrecv(const void *s, int sn, MPI_Datatype st, int to, int tag, void *r, int rn, MPI_Datatype rt, int from,
                 int rtag, MPI_Comm c, MPI_Status *status)
{
    sink = now();
    int result = PMPI_Sendrecv(s, sn, st, to, tag, r, rn, rt, from, rtag, c, status);
    sink = now();
    return result;
}

int MPI_Comm_rank(MPI_Comm c, int *rank)
{
    sink = now();
    int result = PMPI_Comm_rank(c, rank);
    sink = now();
    return result;
}

int MPI_Put(const void *o, int on, MPI_Datatype ot, int to, MPI_Aint at, int tn, MPI_Datatype tt, MPI_Win w)
{
    sink = now();
    int result = PMPI_Put(o, on, ot, to, at, tn, tt, w);
    sink = now();
    return result;
}

int MPI_File_write_at(MPI_File f, MPI_Offset at, const void *b, int n, MPI_Datatype t, MPI_Status *status)
{
    sink = now();
    int result = PMPI_File_write_at(f, at, b, n, t, status);
    sink = now();
    return result;
}

int MPI_Irecv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *request)
{
    sink = now();
    int result = PMPI_Irecv(b, n, t, from, tag, c, request);
    sink = now();
    return result;
}

int MPI_Isend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *request)
{
    sink = now();
    int result = PMPI_Isend(b, n, t, to, tag, c, request);
    sink = now();
    return result;
}

int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
    sink = now();
    int result = PMPI_Waitall(n, requests, statuses);
    sink = now();
    return result;
}

int MPI_Win_flush(int rank, MPI_Win w)
{
    sink = now();
    int result = PMPI_Win_flush(rank, w);
    sink = now();
    return result;
}
