/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the count arrays of collective operations. counts: array of n integers of `each` bytes, or NULL in an erroneous
   program. */
#ifndef VT_MPI_COUNTS_H
#define VT_MPI_COUNTS_H

static inline int64_t vt_mpi_count(const void *counts, size_t each, uint32_t i)
{
    return each == sizeof(int) ? ((const int *)counts)[i] : ((const MPI_Count *)counts)[i];
}

static inline int64_t vt_mpi_sum(const void *counts, size_t each, uint32_t n)
{
    int64_t sum = 0;
    for (uint32_t i = 0; counts && i < n; i++) sum += vt_mpi_count(counts, each, i);
    return sum;
}

/* True if the counts of all other processes are above 0. */
static inline bool vt_mpi_all_give(const void *counts, size_t each, uint32_t n, uint32_t me)
{
    for (uint32_t i = 0; counts && i < n; i++)
        if (i != me && vt_mpi_count(counts, each, i) <= 0) return false;
    return counts != NULL;
}

#endif
