/* SPDX-License-Identifier: BSD-3-Clause */
/* Begin and end of collective operations; templates/coll.c says which bytes are counted. */
#include "mpiwrap.h"

/* Field by field into the caller's memory: a struct returned by value is read back wider than it was written, which
   stalls the processor for longer than the records take.                                                            */
void vt_mpi_coll_begin(struct vt_mpi_coll *coll, uint32_t region, MPI_Comm comm)
{
    const struct vt_mpi_comm *c = coll->comm = vt_mpi_comm(comm);
    if (!c) {
        vt_enter(region);
        return;
    }
    uint64_t words[] = {VT_HEAD(VT_K_ENTER, 0, region), VT_HEAD(VT_K_COLL_BEGIN, 0, 0)};
    vt_write(words, 2);
    coll->n = vt_mpi_peers(c);
    coll->me = c->rank;
    coll->root = VT_NO_ROOT;
    coll->sent = coll->received = 0;
}

/* In an inter-communicator the root passes MPI_ROOT, its group MPI_PROC_NULL, the other group the root's rank. */
void vt_mpi_coll_root(struct vt_mpi_coll *coll, enum vt_mpi_op op, int root)
{
    coll->op = op;
    if (coll->comm->remote) {
        coll->is_root = root == MPI_ROOT;
        coll->is_leaf = root >= 0;
    } else {
        coll->is_root = root == (int)coll->me;
        coll->is_leaf = true;
    }
    if (root >= 0 && (uint32_t)root < coll->n) coll->root = (uint32_t)root;
}

/* An operation that failed ends too, without bytes: what began must end in the trace. */
void vt_mpi_coll_end(const struct vt_mpi_coll *coll, uint32_t region, int result)
{
    if (!coll->comm) {
        vt_leave(region);
        return;
    }
    const bool done = result == MPI_SUCCESS;
    uint64_t words[] = {VT_HEAD(VT_K_COLL_END, 3, coll->comm->id), vt_mpi_pair(coll->op, coll->root),
                        done ? coll->sent : 0, done ? coll->received : 0, VT_HEAD(VT_K_LEAVE, 0, region)};
    vt_write(words, 5);
}
