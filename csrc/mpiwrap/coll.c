/* SPDX-License-Identifier: BSD-3-Clause */
/* Non-blocking and persistent collective operations, and topologies. templates/coll.c states the bytes of each
   operation. */
#include "mpiwrap.h"

void vt_mpi_icoll_begin(struct vt_mpi_coll *coll, uint32_t region, MPI_Comm comm)
{
    vt_mpi_coll_of(coll, comm);
    if (!coll->comm) {
        vt_enter(region);
        return;
    }
    coll->id = vt_mpi_new_request();
    vt_write_3(VT_HEAD(VT_K_ENTER, 0, region), VT_HEAD(VT_K_COLL_REQUEST, 1, 0), coll->id);
}

bool vt_mpi_coll_late(struct vt_mpi_coll *coll, MPI_Comm comm, bool request, int result)
{
    if (result != MPI_SUCCESS || !vt_mpi_comm_used(comm)) return false;
    vt_mpi_coll_of(coll, comm);
    if (!coll->comm) return false;
    uint64_t words[2] = {VT_HEAD(VT_K_COLL_BEGIN, 0, 0), 0};
    if (request) {
        words[0] = VT_HEAD(VT_K_COLL_REQUEST, 1, 0);
        words[1] = coll->id = vt_mpi_new_request();
    }
    vt_write(words, 1 + request);
    return true;
}

static void vt_put_coll_complete(uint64_t *words, const struct vt_mpi_coll *coll)
{
    words[0] = VT_HEAD(VT_K_COLL_COMPLETE, 4, coll->comm->id);
    words[1] = vt_mpi_op_root(coll);
    words[2] = coll->sent;
    words[3] = coll->received;
    words[4] = coll->id;
}

void vt_mpi_icoll_end(const struct vt_mpi_coll *coll, uint32_t region, const MPI_Request *request, int result)
{
    if (!coll->comm) vt_leave(region);
    else if (result != MPI_SUCCESS)
        vt_write_3(VT_HEAD(VT_K_REQUEST_CANCELLED, 1, 0), coll->id, VT_HEAD(VT_K_LEAVE, 0, region));
    else {
        uint64_t words[5];
        vt_put_coll_complete(words, coll);
        vt_mpi_follow(VT_REQUEST_COLL, 0, coll->id, words, 5, request);
        if (coll->posted) vt_mpi_coll_posts(coll);
        vt_leave(region);
    }
}

void vt_mpi_coll_persistent(const struct vt_mpi_coll *coll, const MPI_Request *request, int result)
{
    struct vt_mpi_request *r =
        coll->comm && result == MPI_SUCCESS ? vt_mpi_post(VT_REQUEST_COLL, false, 0, request) : NULL;
    if (!r) return;
    r->persistent = true;
    r->n = 5;
    vt_put_coll_complete(r->words, coll);
    vt_mpi_put_back(r);
}

/* ---- Topologies ---- */

static struct vt_mpi_neighbours vt_cart_neighbours(MPI_Comm comm)
{
    struct vt_mpi_neighbours found = {0, 0, 0, 0};
    int n = 0, lengths[VT_MOST_DIMENSIONS], periodic[VT_MOST_DIMENSIONS], place[VT_MOST_DIMENSIONS];
    if (PMPI_Cartdim_get(comm, &n) != MPI_SUCCESS) return found;
    found.in = found.out = 2 * (uint32_t)n;
    if (n > VT_MOST_DIMENSIONS || PMPI_Cart_get(comm, n, lengths, periodic, place) != MPI_SUCCESS) return found;
    for (int i = 0; i < n; i++) {
        if (periodic[i]) continue;
        const bool first = place[i] == 0, last = place[i] == lengths[i] - 1;
        found.missing |= (uint64_t)(first | last << 1) << 2 * i;
        found.lacks += (uint32_t)first + last;
    }
    return found;
}

struct vt_mpi_neighbours vt_mpi_neighbours(MPI_Comm comm)
{
    struct vt_mpi_neighbours found = {0, 0, 0, 0};
    int kind = MPI_UNDEFINED, in = 0, out = 0, weighted;
    const struct vt_mpi_comm *c = vt_mpi_comm(comm);
    if (!c || PMPI_Topo_test(comm, &kind) != MPI_SUCCESS) return found;
    if (kind == MPI_CART) return vt_cart_neighbours(comm);
    if (kind == MPI_GRAPH && PMPI_Graph_neighbors_count(comm, (int)c->rank, &in) == MPI_SUCCESS) out = in;
    if (kind == MPI_DIST_GRAPH && PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted) != MPI_SUCCESS)
        in = out = 0;
    found.in = (uint32_t)in;
    found.out = (uint32_t)out;
    return found;
}
