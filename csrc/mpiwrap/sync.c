/* SPDX-License-Identifier: BSD-3-Clause */
/* VT_SYNC_FLUSH: inside a blocking collective on MPI_COMM_WORLD all ranks write their buffers together, when one of them has
   filled VT_SYNC_FLUSH_LEVEL percent. A rank that stayed out would block the others: so all take part in the question or
   none, whatever each of them records of the collective itself.                                                           */
#include "mpiwrap.h"

_Atomic(bool) vt_mpi_syncing;

/* At MPI_Init, by all ranks. */
void vt_mpi_sync_begin(bool records)
{
    int mine = records && vt_setting("VT_SYNC_FLUSH"), all = 0;
    PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    atomic_store(&vt_mpi_syncing, all != 0);
}

void vt_mpi_sync_ask(void)
{
    int mine = vt_buffer_level() >= vt_setting("VT_SYNC_FLUSH_LEVEL"), any = 0;
    PMPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (!any) return;
    vt_mpi_clocks_measure();
    vt_flush_together();
}
