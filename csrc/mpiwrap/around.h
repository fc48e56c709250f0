/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands around a call: where in the code it is made from, a flush of all ranks, barriers. */
#ifndef VT_MPI_AROUND_H
#define VT_MPI_AROUND_H

/* ---- sites.c: VT_MPI_CALLSITES ---- */

#define VT_SITE_DEPTH 32u /* the setting's limit */

extern _Atomic(uint32_t) vt_mpi_site_depth; /* 0: off */
void vt_mpi_sites_begin(void);
void vt_mpi_site(uintptr_t caller);

/* Tells where the call of a wrapper comes from, if that is asked for, before the record that enters the region. */
__attribute__((always_inline)) static inline uint32_t vt_mpi_placed(uint32_t region)
{
    if (VT_LIKELY(!atomic_load_explicit(&vt_mpi_site_depth, memory_order_relaxed))) return region;
    if (region + 1 > 1) vt_mpi_site((uintptr_t)__builtin_return_address(0));
    return region;
}

/* ---- sync.c: VT_SYNC_FLUSH and VT_MPI_BARRIER ---- */

/* What is done around collectives: bits, the same in all ranks of a world. The first two are those of the setting. */
enum vt_mpi_around { VT_AROUND_BEFORE = 1, VT_AROUND_AFTER = 2, VT_AROUND_SYNC = 4 };

struct vt_mpi_after {
    MPI_Comm comm; /* that of the barrier to come, or MPI_COMM_NULL */
    uintptr_t caller;
};

extern _Atomic(unsigned) vt_mpi_around;
void vt_mpi_sync_begin(bool records);
void vt_mpi_sync_ask(void);
MPI_Comm vt_mpi_barrier_before(MPI_Comm comm, unsigned around, uintptr_t caller);
void vt_mpi_barrier_after(const struct vt_mpi_after *after);

/* Before anything else of a blocking collective; a macro, so that Fortran's handle is converted only if need be. */
#define vt_mpi_sync(communicator)                                                                                      \
    do {                                                                                                               \
        const unsigned vt_around = atomic_load_explicit(&vt_mpi_around, memory_order_relaxed);                         \
        if (VT_LIKELY(!(vt_around & VT_AROUND_SYNC))) break;                                                           \
        if ((communicator) == MPI_COMM_WORLD && !vt_mpi_by_binding()) vt_mpi_sync_ask();                               \
    } while (0)

/* Behind it: the barrier before the call, and that after it where the wrapper ends, whichever way. gets: those that mpiP
   gives barriers to. */
#define vt_mpi_barriers(gets, communicator)                                                                            \
    struct vt_mpi_after vt_after __attribute__((cleanup(vt_mpi_barrier_last))) = {MPI_COMM_NULL, 0};                   \
    do {                                                                                                               \
        const unsigned vt_around = (gets) ? atomic_load_explicit(&vt_mpi_around, memory_order_relaxed) : 0;            \
        if (VT_LIKELY(!(vt_around & (VT_AROUND_BEFORE | VT_AROUND_AFTER))) || vt_mpi_by_binding()) break;              \
        vt_after.caller = (uintptr_t)__builtin_return_address(0);                                                      \
        vt_after.comm = vt_mpi_barrier_before(communicator, vt_around, vt_after.caller);                               \
    } while (0)

static inline void vt_mpi_barrier_last(const struct vt_mpi_after *after)
{
    if (after->comm != MPI_COMM_NULL) vt_mpi_barrier_after(after);
}

#endif
