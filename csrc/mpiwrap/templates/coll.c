/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations. Bytes are those of this rank. They include the data that the rank sends to and receives from
   itself, as in Score-P. n: number of ranks (of the remote group in an inter-communicator); r: own rank; s, t: bytes of
   one send count and one receive count; S, T: their sums over all ranks; s[r]: own part.

       operation               sent                        received                in place (sent, received)
       Barrier                 0                           0
       Bcast                   root: n s                   s
       Gather, Gatherv         s                           root: n t, T            root: 0, less its own part
       Scatter, Scatterv       root: n s, S                t                       root: less its own part, 0
       Allgather               n s                         n t                     (n-1) t, (n-1) t
       Allgatherv              n s                         T                       (n-1) t[r], T - t[r]
       Alltoall                n s                         n t                     (n-1) t, (n-1) t
       Alltoallv, Alltoallw    S                           T                       T - t[r], T - t[r]
       Reduce                  s                           root: n s               root: 0, (n-1) s
       Allreduce               n s                         n s                     (n-1) s, (n-1) s
       Reduce_scatter_block    n t                         n t                     (n-1) t, (n-1) t
       Reduce_scatter          T                           n t[r]                  T - t[r], (n-1) t[r]
       Scan                    (n-r) s                     (r+1) s                 (n-r-1) s, r s
       Exscan                  (n-r-1) s                   r s                     the same

   In an inter-communicator only the root counts the root's part, and only the other group counts the part of the
   others. A neighbourhood operation counts only neighbours that exist: a non-periodic grid has none beyond its border.
   Non-blocking and persistent operations count the bytes of their arguments when they start, not when they end.

   from_all is set if every rank waits for every other one and the operation and its bytes do not imply that: for
   Alltoallv and Alltoallw, and for operations that share their name in the records with a neighbourhood operation. */

//// frame collective
$FUNCTION
{
    vt_mpi_sync($COMM_FIRST);
    vt_mpi_barriers($BARRIERS, $COMM_FIRST);
    $BEGIN
    struct vt_mpi_coll vt;
    vt_mpi_coll_begin(&vt, vt_region, $IN_COMM);
    $RESULT vt_result = MPI_SUCCESS;
    int vt_turn = 0;
    do { /* a second pass for a communicator that becomes known by the call */
        if (vt.comm) {
$BODY
        }
        if (!vt_turn++) vt_result = $CALL;
    } while (!vt.comm && vt_mpi_coll_late(&vt, $IN_COMM, false, vt_result));
    vt_mpi_coll_end(&vt, vt_region, vt_result);
    return vt_result;
}

//// frame nonblocking
$FUNCTION
{
    $BEGIN
    struct vt_mpi_coll vt;
    vt_mpi_icoll_begin(&vt, vt_region, $IN_COMM);
    $RESULT vt_result = MPI_SUCCESS;
    int vt_turn = 0;
    do { /* a second pass for a communicator that becomes known by the call */
        if (vt.comm) {
$BODY
        }
        if (!vt_turn++) vt_result = $CALL;
    } while (!vt.comm && vt_mpi_coll_late(&vt, $IN_COMM, true, vt_result));
    vt_mpi_icoll_end(&vt, vt_region, $request, vt_result);
    return vt_result;
}

//// frame persistent
$FUNCTION
{
    $BEGIN
    struct vt_mpi_coll vt;
    vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    if (vt_result == MPI_SUCCESS) vt_mpi_comm_used($IN_COMM);
    vt_mpi_coll_of(&vt, $IN_COMM);
    if (vt.comm) {
$BODY
    }
    vt_mpi_coll_persistent(&vt, $request, vt_result);
    vt_leave(vt_region);
    return vt_result;
}

//// MPI_Barrier : collective nonblocking persistent
        vt.op = VT_OP_BARRIER;

//// MPI_Bcast : collective nonblocking persistent
        const uint64_t vt_bytes = vt_mpi_bytes($count, $datatype);
        vt_mpi_coll_root(&vt, VT_OP_BCAST, $root);
        if (vt.is_root) vt.sent = vt.n * vt_bytes;
        if (vt.is_leaf) vt.received = vt_bytes;

//// MPI_Gather : collective nonblocking persistent
        vt_mpi_coll_root(&vt, VT_OP_GATHER, $root);
        const bool vt_in_place = vt.is_root && $sendbuf == MPI_IN_PLACE;
        if (vt.is_leaf && !vt_in_place) vt.sent = vt_mpi_bytes($sendcount, $sendtype);
        if (vt.is_root) vt.received = (vt.n - vt_in_place) * vt_mpi_bytes($recvcount, $recvtype);

//// MPI_Gatherv : collective nonblocking persistent
        vt_mpi_coll_root(&vt, VT_OP_GATHERV, $root);
        const bool vt_in_place = vt.is_root && $sendbuf == MPI_IN_PLACE;
        if (vt.is_leaf && !vt_in_place) vt.sent = vt_mpi_bytes($sendcount, $sendtype);
        if (vt.is_root) {
            const int64_t vt_total = vt_mpi_sum($recvcounts, sizeof *$recvcounts, vt.n);
            vt.received = vt_mpi_bytes(vt_total - (vt_in_place && $recvcounts ? $recvcounts[vt.me] : 0), $recvtype);
        }

//// MPI_Scatter : collective nonblocking persistent
        vt_mpi_coll_root(&vt, VT_OP_SCATTER, $root);
        const bool vt_in_place = vt.is_root && $recvbuf == MPI_IN_PLACE;
        if (vt.is_root) vt.sent = (vt.n - vt_in_place) * vt_mpi_bytes($sendcount, $sendtype);
        if (vt.is_leaf && !vt_in_place) vt.received = vt_mpi_bytes($recvcount, $recvtype);

//// MPI_Scatterv : collective nonblocking persistent
        vt_mpi_coll_root(&vt, VT_OP_SCATTERV, $root);
        const bool vt_in_place = vt.is_root && $recvbuf == MPI_IN_PLACE;
        if (vt.is_root) {
            const int64_t vt_total = vt_mpi_sum($sendcounts, sizeof *$sendcounts, vt.n);
            vt.sent = vt_mpi_bytes(vt_total - (vt_in_place && $sendcounts ? $sendcounts[vt.me] : 0), $sendtype);
        }
        if (vt.is_leaf && !vt_in_place) vt.received = vt_mpi_bytes($recvcount, $recvtype);

//// MPI_Allgather : collective nonblocking persistent
        const bool vt_in_place = $sendbuf == MPI_IN_PLACE;
        vt.op = VT_OP_ALLGATHER;
        vt.from_all = true;
        vt.received = (vt.n - vt_in_place) * vt_mpi_bytes($recvcount, $recvtype);
        vt.sent = vt_in_place ? vt.received : vt.n * vt_mpi_bytes($sendcount, $sendtype);

//// MPI_Allgatherv : collective nonblocking persistent
        const bool vt_in_place = $sendbuf == MPI_IN_PLACE;
        const int64_t vt_mine = vt_in_place && $recvcounts ? $recvcounts[vt.me] : 0;
        vt.op = VT_OP_ALLGATHERV;
        vt.from_all = vt_mpi_all_give($recvcounts, sizeof *$recvcounts, vt.n, vt.me);
        vt.received = vt_mpi_bytes(vt_mpi_sum($recvcounts, sizeof *$recvcounts, vt.n) - vt_mine, $recvtype);
        vt.sent = vt_in_place ? (vt.n - 1) * vt_mpi_bytes(vt_mine, $recvtype)
                              : vt.n * vt_mpi_bytes($sendcount, $sendtype);

//// MPI_Alltoall : collective nonblocking persistent
        const bool vt_in_place = $sendbuf == MPI_IN_PLACE;
        vt.op = VT_OP_ALLTOALL;
        vt.from_all = true;
        vt.received = (vt.n - vt_in_place) * vt_mpi_bytes($recvcount, $recvtype);
        vt.sent = vt_in_place ? vt.received : vt.n * vt_mpi_bytes($sendcount, $sendtype);

//// MPI_Alltoallv : collective nonblocking persistent
        const bool vt_in_place = $sendbuf == MPI_IN_PLACE;
        const int64_t vt_mine = vt_in_place && $recvcounts ? $recvcounts[vt.me] : 0;
        vt.op = VT_OP_ALLTOALLV;
        vt.from_all = vt_mpi_all_give($recvcounts, sizeof *$recvcounts, vt.n, vt.me);
        vt.received = vt_mpi_bytes(vt_mpi_sum($recvcounts, sizeof *$recvcounts, vt.n) - vt_mine, $recvtype);
        vt.sent = vt_in_place ? vt.received
                              : vt_mpi_bytes(vt_mpi_sum($sendcounts, sizeof *$sendcounts, vt.n), $sendtype);

//// MPI_Alltoallw : collective nonblocking persistent
        const bool vt_in_place = $sendbuf == MPI_IN_PLACE;
        vt.op = VT_OP_ALLTOALLW;
        vt.from_all = true;
        for (uint32_t vt_i = 0; vt_i < vt.n; vt_i++) {
            if (vt_in_place && vt_i == vt.me) continue;
            const uint64_t vt_bytes =
                $recvcounts && $recvtypes ? vt_mpi_bytes($recvcounts[vt_i], $recvtypes[vt_i]) : 0;
            vt.received += vt_bytes;
            if (!vt_bytes && vt_i != vt.me) vt.from_all = false;
            if (!vt_in_place && $sendcounts && $sendtypes)
                vt.sent += vt_mpi_bytes($sendcounts[vt_i], $sendtypes[vt_i]);
        }
        if (vt_in_place) vt.sent = vt.received;

//// MPI_Reduce : collective nonblocking persistent
        const uint64_t vt_bytes = vt_mpi_bytes($count, $datatype);
        vt_mpi_coll_root(&vt, VT_OP_REDUCE, $root);
        const bool vt_in_place = vt.is_root && $sendbuf == MPI_IN_PLACE;
        if (vt.is_leaf && !vt_in_place) vt.sent = vt_bytes;
        if (vt.is_root) vt.received = (vt.n - vt_in_place) * vt_bytes;

//// MPI_Allreduce : collective nonblocking persistent
        vt.op = VT_OP_ALLREDUCE;
        vt.sent = vt.received = (vt.n - ($sendbuf == MPI_IN_PLACE)) * vt_mpi_bytes($count, $datatype);

//// MPI_Reduce_scatter_block : collective nonblocking persistent
        vt.op = VT_OP_REDUCE_SCATTER_BLOCK;
        vt.sent = vt.received = (vt.n - ($sendbuf == MPI_IN_PLACE)) * vt_mpi_bytes($recvcount, $datatype);

//// MPI_Reduce_scatter : collective nonblocking persistent
        const bool vt_in_place = $sendbuf == MPI_IN_PLACE;
        const int64_t vt_total = vt_mpi_sum($recvcounts, sizeof *$recvcounts, vt.comm->size);
        const int64_t vt_mine = $recvcounts ? $recvcounts[vt.me] : 0;
        vt.op = VT_OP_REDUCE_SCATTER;
        vt.sent = vt_mpi_bytes(vt_total - (vt_in_place ? vt_mine : 0), $datatype);
        vt.received = (vt.n - vt_in_place) * vt_mpi_bytes(vt_mine, $datatype);

//// MPI_Scan : collective nonblocking persistent
        const uint64_t vt_bytes = vt_mpi_bytes($count, $datatype);
        const bool vt_in_place = $sendbuf == MPI_IN_PLACE;
        vt.op = VT_OP_SCAN;
        vt.sent = (vt.n - vt.me - vt_in_place) * vt_bytes;
        vt.received = (vt.me + 1 - vt_in_place) * vt_bytes;

//// MPI_Exscan : collective nonblocking persistent
        const uint64_t vt_bytes = vt_mpi_bytes($count, $datatype);
        vt.op = VT_OP_EXSCAN;
        vt.sent = (vt.n - vt.me - 1) * vt_bytes;
        vt.received = vt.me * vt_bytes;

//// MPI_Neighbor_allgather : collective nonblocking persistent
        const struct vt_mpi_neighbours vt_near = vt_mpi_neighbours($comm);
        vt.op = VT_OP_ALLGATHER;
        vt.sent = (vt_near.out - vt_near.lacks) * vt_mpi_bytes($sendcount, $sendtype);
        vt.received = (vt_near.in - vt_near.lacks) * vt_mpi_bytes($recvcount, $recvtype);
        vt.posted = vt_mpi_bytes($sendcount, $sendtype) + vt.received;

//// MPI_Neighbor_allgatherv : collective nonblocking persistent
        const struct vt_mpi_neighbours vt_near = vt_mpi_neighbours($comm);
        vt.op = VT_OP_ALLGATHERV;
        vt.sent = (vt_near.out - vt_near.lacks) * vt_mpi_bytes($sendcount, $sendtype);
        for (uint32_t vt_i = 0; $recvcounts && vt_i < vt_near.in; vt_i++)
            if (!vt_mpi_is_missing(&vt_near, vt_i)) vt.received += vt_mpi_bytes($recvcounts[vt_i], $recvtype);
        vt.posted = vt_mpi_bytes($sendcount, $sendtype) + vt.received;

//// MPI_Neighbor_alltoall : collective nonblocking persistent
        const struct vt_mpi_neighbours vt_near = vt_mpi_neighbours($comm);
        vt.op = VT_OP_ALLTOALL;
        vt.sent = (vt_near.out - vt_near.lacks) * vt_mpi_bytes($sendcount, $sendtype);
        vt.received = (vt_near.in - vt_near.lacks) * vt_mpi_bytes($recvcount, $recvtype);

//// MPI_Neighbor_alltoallv : collective nonblocking persistent
        const struct vt_mpi_neighbours vt_near = vt_mpi_neighbours($comm);
        vt.op = VT_OP_ALLTOALLV;
        for (uint32_t vt_i = 0; $sendcounts && vt_i < vt_near.out; vt_i++)
            if (!vt_mpi_is_missing(&vt_near, vt_i)) vt.sent += vt_mpi_bytes($sendcounts[vt_i], $sendtype);
        for (uint32_t vt_i = 0; $recvcounts && vt_i < vt_near.in; vt_i++)
            if (!vt_mpi_is_missing(&vt_near, vt_i)) vt.received += vt_mpi_bytes($recvcounts[vt_i], $recvtype);

//// MPI_Neighbor_alltoallw : collective nonblocking persistent
        const struct vt_mpi_neighbours vt_near = vt_mpi_neighbours($comm);
        vt.op = VT_OP_ALLTOALLW;
        for (uint32_t vt_i = 0; $sendcounts && $sendtypes && vt_i < vt_near.out; vt_i++)
            if (!vt_mpi_is_missing(&vt_near, vt_i)) vt.sent += vt_mpi_bytes($sendcounts[vt_i], $sendtypes[vt_i]);
        for (uint32_t vt_i = 0; $recvcounts && $recvtypes && vt_i < vt_near.in; vt_i++)
            if (!vt_mpi_is_missing(&vt_near, vt_i)) vt.received += vt_mpi_bytes($recvcounts[vt_i], $recvtypes[vt_i]);
