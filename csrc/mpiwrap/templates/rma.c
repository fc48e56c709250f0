/* SPDX-License-Identifier: BSD-3-Clause */
/* One-sided communication. Bytes are those at the origin. An operation on MPI_PROC_NULL has no record. */

//// frame window
$FUNCTION
{
    $BEGIN
    struct vt_mpi_win_creation vt_creation;
    vt_mpi_win_create_begin(&vt_creation, vt_region, $comm);
    $RESULT vt_result = $CALL;
    vt_mpi_win_create_end(&vt_creation, vt_region, $win, $BODY, vt_result);
    return vt_result;
}

//// MPI_Win_create MPI_Win_create_dynamic : window
false

//// MPI_Win_allocate MPI_Win_allocate_shared : window
true

//// MPI_Win_free
$FUNCTION
{
    $BEGIN
    struct vt_mpi_win *vt_win = vt_mpi_win_free_begin(vt_region, $win);
    $RESULT vt_result = $CALL;
    vt_mpi_win_free_end(vt_region, vt_win, $win, vt_result);
    return vt_result;
}

//// MPI_Win_set_name
$FUNCTION
{
    $BEGIN
    vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    if (vt_result == MPI_SUCCESS) vt_mpi_win_name($win, $win_name);
    vt_leave(vt_region);
    return vt_result;
}

//// frame operation
$FUNCTION
{
    $BEGIN
    const bool vt_request = false;
    struct vt_mpi_rma vt_op;
$BODY
    $RESULT vt_result = $CALL;
    vt_mpi_rma_end(&vt_op, vt_region);
    return vt_result;
}

//// frame operation_with_request
$FUNCTION
{
    $BEGIN
    const bool vt_request = true;
    struct vt_mpi_rma vt_op;
$BODY
    $RESULT vt_result = $CALL;
    vt_mpi_rma_request_end(&vt_op, vt_region, $request, vt_result);
    return vt_result;
}

//// MPI_Put : operation
    vt_mpi_put_begin(&vt_op, vt_region, $win, $target_rank, vt_mpi_bytes($origin_count, $origin_datatype), vt_request);

//// MPI_Rput : operation_with_request
    vt_mpi_put_begin(&vt_op, vt_region, $win, $target_rank, vt_mpi_bytes($origin_count, $origin_datatype), vt_request);

//// MPI_Get : operation
    vt_mpi_get_begin(&vt_op, vt_region, $win, $target_rank, vt_mpi_bytes($origin_count, $origin_datatype), vt_request);

//// MPI_Rget : operation_with_request
    vt_mpi_get_begin(&vt_op, vt_region, $win, $target_rank, vt_mpi_bytes($origin_count, $origin_datatype), vt_request);

//// MPI_Accumulate : operation
    vt_mpi_atomic_begin(&vt_op, vt_region, $win, $target_rank, VT_ATOMIC_ACCUMULATE,
                        vt_mpi_bytes($origin_count, $origin_datatype), 0, vt_request);

//// MPI_Raccumulate : operation_with_request
    vt_mpi_atomic_begin(&vt_op, vt_region, $win, $target_rank, VT_ATOMIC_ACCUMULATE,
                        vt_mpi_bytes($origin_count, $origin_datatype), 0, vt_request);

//// MPI_Get_accumulate : operation
    vt_mpi_atomic_begin(&vt_op, vt_region, $win, $target_rank, vt_mpi_atomic_of($op),
                        $op == MPI_NO_OP ? 0 : vt_mpi_bytes($origin_count, $origin_datatype),
                        vt_mpi_bytes($result_count, $result_datatype), vt_request);

//// MPI_Rget_accumulate : operation_with_request
    vt_mpi_atomic_begin(&vt_op, vt_region, $win, $target_rank, vt_mpi_atomic_of($op),
                        $op == MPI_NO_OP ? 0 : vt_mpi_bytes($origin_count, $origin_datatype),
                        vt_mpi_bytes($result_count, $result_datatype), vt_request);

//// MPI_Fetch_and_op : operation
    const uint64_t vt_bytes = vt_mpi_bytes(1, $datatype);
    vt_mpi_atomic_begin(&vt_op, vt_region, $win, $target_rank, vt_mpi_atomic_of($op), $op == MPI_NO_OP ? 0 : vt_bytes,
                        vt_bytes, vt_request);

//// MPI_Compare_and_swap : operation
    const uint64_t vt_bytes = vt_mpi_bytes(1, $datatype);
    vt_mpi_atomic_begin(&vt_op, vt_region, $win, $target_rank, VT_ATOMIC_COMPARE_AND_SWAP, vt_bytes, vt_bytes, vt_request);

//// MPI_Win_fence
$FUNCTION
{
    $BEGIN
    const struct vt_mpi_win *vt_win = vt_mpi_fence_begin(vt_region, $win);
    $RESULT vt_result = $CALL;
    vt_mpi_fence_end(vt_region, vt_win, vt_result);
    return vt_result;
}

//// frame sync
$FUNCTION
{
    $BEGIN
    vt_enter(vt_region);
    $RESULT vt_result = $CALL;
$BODY
    return vt_result;
}

//// MPI_Win_flush : sync
    vt_mpi_flush_end(vt_region, $win, $rank, true, vt_result);

//// MPI_Win_flush_local : sync
    vt_mpi_flush_end(vt_region, $win, $rank, false, vt_result);

//// MPI_Win_flush_all : sync
    vt_mpi_flush_end(vt_region, $win, VT_ALL_TARGETS, true, vt_result);

//// MPI_Win_flush_local_all : sync
    vt_mpi_flush_end(vt_region, $win, VT_ALL_TARGETS, false, vt_result);

//// MPI_Win_unlock : sync
    vt_mpi_unlock_end(vt_region, $win, $rank, vt_result);

//// MPI_Win_unlock_all : sync
    vt_mpi_unlock_end(vt_region, $win, VT_ALL_TARGETS, vt_result);

//// MPI_Win_sync : sync
    vt_mpi_win_sync_end(vt_region, $win, vt_result);

//// MPI_Win_post : sync
    vt_mpi_epoch_opened(vt_region, $win, $group, false, vt_result);

//// MPI_Win_start : sync
    vt_mpi_epoch_opened(vt_region, $win, $group, true, vt_result);

//// MPI_Win_complete : sync
    vt_mpi_epoch_closed(vt_region, $win, true, NULL, vt_result);

//// MPI_Win_wait : sync
    vt_mpi_epoch_closed(vt_region, $win, false, NULL, vt_result);

//// MPI_Win_test : sync
    vt_mpi_epoch_closed(vt_region, $win, false, $flag, vt_result);

//// MPI_Win_lock
$FUNCTION
{
    $BEGIN
    vt_mpi_lock_begin(vt_region, $win, $rank, $lock_type);
    $RESULT vt_result = $CALL;
    vt_leave(vt_region);
    return vt_result;
}

//// MPI_Win_lock_all
$FUNCTION
{
    $BEGIN
    vt_mpi_lock_begin(vt_region, $win, VT_ALL_TARGETS, MPI_LOCK_SHARED);
    $RESULT vt_result = $CALL;
    vt_leave(vt_region);
    return vt_result;
}
