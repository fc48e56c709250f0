/* SPDX-License-Identifier: BSD-3-Clause */
/* Actions of all ranks around a blocking collective. A rank that does not take part would block the others. So either
   all ranks take part or none does, independent of the calls that each rank records.

   VT_SYNC_FLUSH: in a collective on MPI_COMM_WORLD all ranks write their buffers if one of them has filled
   VT_SYNC_FLUSH_LEVEL percent. VT_MPI_BARRIER: a barrier before or after the collective separates its time from the
   time that ranks wait for late ones. */
#include "mpiwrap.h"

_Atomic(unsigned) vt_mpi_around;

/* All ranks call this at MPI_Init. */
void vt_mpi_sync_begin(bool records)
{
    unsigned mine = 0, all = 0;
    if (records) mine = (unsigned)vt_setting("VT_MPI_BARRIER") | (vt_setting("VT_SYNC_FLUSH") ? VT_AROUND_SYNC : 0);
    if (PMPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED, MPI_BAND, MPI_COMM_WORLD) != MPI_SUCCESS) return;
    if (mine & ~all & (VT_AROUND_BEFORE | VT_AROUND_AFTER))
        vt_warn("VT_MPI_BARRIER is ignored: not all ranks have this setting and record MPI calls");
    atomic_store(&vt_mpi_around, all);
}

void vt_mpi_sync_ask(void)
{
    int mine = vt_buffer_level() >= vt_setting("VT_SYNC_FLUSH_LEVEL"), any = 0;
    if (PMPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) != MPI_SUCCESS || !any) return;
    vt_mpi_clocks_measure();
    vt_flush_together();
}

/* ---- Barriers: each kind is a region ---- */

static _Atomic(uint32_t) vt_barrier_regions[2];

static uint32_t vt_barrier_region(bool after)
{
    static const char *const names[] = {"BarrierBeforeColl", "BarrierAfterColl"};
    uint32_t region = atomic_load_explicit(&vt_barrier_regions[after], memory_order_relaxed);
    if (region) return region;
    uint32_t *counted = NULL;
    const bool on = vt_mpi_group_is_on(vt_mpi_functions[VT_F_MPI_Barrier].group) &&
                    vt_take_call(names[after], "MPI", &counted) != VT_CALL_HIDDEN;
    if (counted && *counted) return *counted;
    region = on ? vt_define_region(names[after], VT_PARADIGM_MPI, VT_ROLE_BARRIER, NULL, 0) : VT_MPI_GROUP_OFF;
    if (!region) return VT_MPI_GROUP_OFF;
    if (counted) return *counted = region; /* the filter counts the calls, so the next call asks again */
    uint32_t none = 0;
    return atomic_compare_exchange_strong(&vt_barrier_regions[after], &none, region) ? region : none;
}

static void vt_barrier(MPI_Comm comm, bool after, uintptr_t caller)
{
    const uint32_t region = vt_barrier_region(after);
    struct vt_mpi_coll coll;
    if (region == VT_MPI_GROUP_OFF) {
        PMPI_Barrier(comm);
        return;
    }
    if (atomic_load_explicit(&vt_mpi_site_depth, memory_order_relaxed)) vt_mpi_site(caller);
    vt_mpi_coll_begin(&coll, region, comm);
    coll.op = VT_OP_BARRIER;
    vt_mpi_coll_end(&coll, region, PMPI_Barrier(comm));
}

/* Returns comm if a barrier follows after the call. There is no barrier on a communicator with members in other worlds,
   or whose creation vtrace did not see, since its other members may call none. An invalid handle is left to the call,
   which reports it. */
MPI_Comm vt_mpi_barrier_before(MPI_Comm comm, unsigned around, uintptr_t caller)
{
    const struct vt_mpi_comm *c = vt_mpi_comm(comm);
    if (!c || c->foreign || c->unseen) return MPI_COMM_NULL;
    if (around & VT_AROUND_BEFORE) vt_barrier(comm, false, caller);
    return around & VT_AROUND_AFTER ? comm : MPI_COMM_NULL;
}

void vt_mpi_barrier_after(const struct vt_mpi_after *after) { vt_barrier(after->comm, true, after->caller); }
