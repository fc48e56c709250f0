/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations that end in a Wait or Test, and topologies; templates/coll.c says which bytes are counted. */
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

#define VT_MOST_DIMENSIONS 32

static struct vt_mpi_neighbours vt_cart_neighbours(MPI_Comm comm)
{
    struct vt_mpi_neighbours found = {0, 0, 0, 0};
    int n = 0, lengths[VT_MOST_DIMENSIONS], periodic[VT_MOST_DIMENSIONS], place[VT_MOST_DIMENSIONS];
    PMPI_Cartdim_get(comm, &n);
    found.in = found.out = 2 * (uint32_t)n;
    if (n > VT_MOST_DIMENSIONS) return found;
    PMPI_Cart_get(comm, n, lengths, periodic, place);
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
    int kind = MPI_UNDEFINED, rank, in = 0, out = 0, weighted;
    PMPI_Topo_test(comm, &kind);
    if (kind == MPI_CART) return vt_cart_neighbours(comm);
    if (kind == MPI_GRAPH) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Graph_neighbors_count(comm, rank, &in);
        out = in;
    } else if (kind == MPI_DIST_GRAPH) PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    found.in = (uint32_t)in;
    found.out = (uint32_t)out;
    return found;
}
