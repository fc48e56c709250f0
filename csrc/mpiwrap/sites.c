/* SPDX-License-Identifier: BSD-3-Clause */
/* The setting VT_MPI_CALLSITES: records the places that call MPI functions, as an attribute of each call. */
#include "mpiwrap.h"

#include <errno.h>

static uint32_t vt_site_attribute;

_Atomic(uint32_t) vt_mpi_site_depth;

static uint32_t vt_define_sites(void)
{
    static const char description[] = "call site of the MPI function and its callers, each as function@file:line";
    return vt_define_attribute("call site", description, VT_TYPE_STRING);
}

/* Writes the attribute of the next ENTER. */
void vt_mpi_site(uintptr_t caller)
{
    const uint32_t id = vt_call_site(caller, atomic_load_explicit(&vt_mpi_site_depth, memory_order_relaxed));
    if (id) vt_write_2(VT_HEAD(VT_K_ATTRIBUTE, 1, vt_site_attribute), id);
}

/* At the first call of an MPI function, where loading libgcc_s and allocating memory are safe. */
void vt_mpi_sites_begin(void)
{
    const int saved = errno;
    uint32_t depth = (uint32_t)vt_setting("VT_MPI_CALLSITES");
    if (depth > VT_SITE_DEPTH) depth = VT_SITE_DEPTH;
    if (depth > 1 && !vt_call_sites_begin()) {
        vt_warn("VT_MPI_CALLSITES=%u needs libgcc_s.so.1, which was not found: 1 is used", depth);
        depth = 1;
    }
    if (depth && (vt_site_attribute = vt_define_sites())) atomic_store(&vt_mpi_site_depth, depth);
    errno = saved;
}
