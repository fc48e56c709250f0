/* SPDX-License-Identifier: BSD-3-Clause */
/* Code before and after a call: recording the call site, the size of a receive buffer and calls in a row, flushing the
   buffers of all ranks, and barriers. Part of mpiwrap.h. */
#ifndef VT_MPI_AROUND_H
#define VT_MPI_AROUND_H

/* ---- sites.c: the setting VT_MPI_CALLSITES ---- */

#define VT_SITE_DEPTH 32u /* largest value of the setting */

extern _Atomic(uint32_t) vt_mpi_site_depth; /* frames of a call site; 0: off */
/* Reads the setting, at the first MPI call. */
void vt_mpi_sites_begin(void);
/* Writes the stack of a call as an attribute of the next ENTER. caller: return address in the program. */
void vt_mpi_site(uintptr_t caller);

/* Notes the frame of a wrapper (vt_called_at), and records the call site if the setting asks for call sites. The
   attribute precedes the ENTER record. */
__attribute__((always_inline)) static inline uint32_t vt_mpi_with_site(uint32_t region)
{
    if (region + 1 > 1) vt_called_at = VT_CALLED_AT;
    if (VT_LIKELY(!atomic_load_explicit(&vt_mpi_site_depth, memory_order_relaxed))) return region;
    if (region + 1 > 1) vt_mpi_site((uintptr_t)__builtin_return_address(0));
    return region;
}

/* ---- message.c: posted sizes ---- */

extern _Atomic(uint32_t) vt_mpi_posted; /* the attribute "posted bytes"; 0: the program has no sections */
/* Defines the attribute: from here on each receive has the attribute. */
void vt_mpi_posts_begin(void);

/* Writes the size of a receive buffer as an attribute of the next ENTER. A macro, so that the size is computed only when
   needed. */
#define vt_mpi_posts(count, type)                                                                                      \
    do {                                                                                                               \
        const uint32_t vt_posted = atomic_load_explicit(&vt_mpi_posted, memory_order_relaxed);                         \
        if (VT_LIKELY(!vt_posted)) break;                                                                              \
        vt_write_2(VT_HEAD(VT_K_ATTRIBUTE, 1, vt_posted), vt_mpi_bytes(count, type));                                  \
    } while (0)

/* ---- complete.c: calls that found nothing, and the setting VT_MPI_POLLS ---- */

/* Writes the records of such a call, from the one after its ENTER up to its LEAVE; the LEAVE alone. */
void vt_mpi_poll(uint64_t *words, unsigned n);
void vt_mpi_poll_leave(uint32_t region);
/* Reads the setting, at the first MPI call. */
void vt_mpi_polls_begin(void);

/* ---- sync.c: the settings VT_SYNC_FLUSH and VT_MPI_BARRIER ---- */

/* Actions before and after a collective, as bits. The bits are the same in all ranks of a world. The first two are the
   bits of VT_MPI_BARRIER. */
enum vt_mpi_around { VT_AROUND_BEFORE = 1, VT_AROUND_AFTER = 2, VT_AROUND_SYNC = 4 };

struct vt_mpi_after {
    MPI_Comm comm; /* communicator of the barrier after the call, or MPI_COMM_NULL */
    uintptr_t caller;
};

extern _Atomic(unsigned) vt_mpi_around;
/* At MPI_Init: all ranks agree on the settings. records: this rank records MPI calls. */
void vt_mpi_sync_begin(bool records);
/* All ranks flush if one of them has filled its buffer up to VT_SYNC_FLUSH_LEVEL. */
void vt_mpi_sync_ask(void);
/* Calls a barrier if around has VT_AROUND_BEFORE. Returns comm if a barrier follows after the call, else
   MPI_COMM_NULL. */
MPI_Comm vt_mpi_barrier_before(MPI_Comm comm, unsigned around, uintptr_t caller);
/* Calls the barrier after the call. */
void vt_mpi_barrier_after(const struct vt_mpi_after *after);

/* First statement of a blocking collective. A macro, so that a Fortran handle is converted only when needed. */
#define vt_mpi_sync(communicator)                                                                                      \
    do {                                                                                                               \
        const unsigned vt_around = atomic_load_explicit(&vt_mpi_around, memory_order_relaxed);                         \
        if (VT_LIKELY(!(vt_around & VT_AROUND_SYNC))) break;                                                           \
        if ((communicator) == MPI_COMM_WORLD && !vt_mpi_by_binding()) vt_mpi_sync_ask();                               \
    } while (0)

/* Second statement of a blocking collective: calls the barrier before the call. The barrier after the call runs at each
   return of the wrapper. gets: mpiP calls barriers around this function. */
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
