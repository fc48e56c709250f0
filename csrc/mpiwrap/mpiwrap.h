/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI shim: generated wrappers and the hand-written code behind them, compiled as one unit per MPI installation.
   The generated part defines before this header: VT_HAVE_x of each wrapped function, enum vt_mpi_function.          */
#ifndef VT_MPIWRAP_H
#define VT_MPIWRAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "core.h"
#include "msgpack.h"

/* A program's own definition of an MPI function goes before ours. */
#define VT_WRAPPER __attribute__((weak, visibility("default")))

#define VT_LIKELY(x) __builtin_expect(!!(x), 1)
#define VT_NO_ROOT 0xffffffffu

/* ---- life.c: attaching, regions, Init and Finalize ---- */

enum vt_mpi_state { VT_MPI_NEW, VT_MPI_ATTACHING, VT_MPI_RECORD, VT_MPI_PASSIVE };

struct vt_mpi_function_info {
    const char *name;
    uint8_t role;
};

extern const struct vt_mpi_function_info vt_mpi_functions[VT_FUNCTIONS];
extern _Atomic(uint32_t) vt_mpi_regions[VT_FUNCTIONS];
extern _Atomic(int) vt_mpi_state;

uint32_t vt_mpi_first_call(unsigned function);

/* The region of a function, 0 where its calls are not recorded. */
static inline uint32_t vt_mpi_begin(unsigned function)
{
    if (atomic_load_explicit(&vt_mpi_state, memory_order_relaxed) == VT_MPI_PASSIVE) return 0;
    const uint32_t region = atomic_load_explicit(&vt_mpi_regions[function], memory_order_relaxed);
    return VT_LIKELY(region) ? region : vt_mpi_first_call(function);
}

#endif
