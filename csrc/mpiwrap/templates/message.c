/* SPDX-License-Identifier: BSD-3-Clause */
/* Point-to-point calls. If the program ignores the status, vtrace passes a status of its own, which the record
   needs. */

//// MPI_Send MPI_Bsend MPI_Ssend MPI_Rsend
$FUNCTION
{
    $BEGIN
    const uint64_t vt_bytes = vt_mpi_bytes($count, $datatype);
    const bool vt_late = vt_mpi_send_begin(vt_region, $comm, $dest, $tag, vt_bytes);
    $RESULT vt_result = $CALL;
    if (vt_late) vt_mpi_send_late($comm, $dest, $tag, vt_bytes, vt_result);
    vt_leave(vt_region);
    return vt_result;
}

//// MPI_Recv
$FUNCTION
{
    $BEGIN
    MPI_Status vt_status;
    if ($status == MPI_STATUS_IGNORE) $status = &vt_status;
    vt_mpi_posts($count, $datatype);
    vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    vt_mpi_recv_end(vt_region, $comm, $status, vt_result, vt_mpi_room(vt_result, $count, $datatype));
    return vt_result;
}

//// MPI_Sendrecv
$FUNCTION
{
    $BEGIN
    MPI_Status vt_status;
    if ($status == MPI_STATUS_IGNORE) $status = &vt_status;
    const uint64_t vt_bytes = vt_mpi_bytes($sendcount, $sendtype);
    vt_mpi_posts($recvcount, $recvtype);
    const bool vt_late = vt_mpi_send_begin(vt_region, $comm, $dest, $sendtag, vt_bytes);
    $RESULT vt_result = $CALL;
    if (vt_late) vt_mpi_send_late($comm, $dest, $sendtag, vt_bytes, vt_result);
    vt_mpi_recv_end(vt_region, $comm, $status, vt_result, vt_mpi_room(vt_result, $recvcount, $recvtype));
    return vt_result;
}

//// MPI_Sendrecv_replace
$FUNCTION
{
    $BEGIN
    MPI_Status vt_status;
    if ($status == MPI_STATUS_IGNORE) $status = &vt_status;
    const uint64_t vt_bytes = vt_mpi_bytes($count, $datatype);
    vt_mpi_posts($count, $datatype);
    const bool vt_late = vt_mpi_send_begin(vt_region, $comm, $dest, $sendtag, vt_bytes);
    $RESULT vt_result = $CALL;
    if (vt_late) vt_mpi_send_late($comm, $dest, $sendtag, vt_bytes, vt_result);
    vt_mpi_recv_end(vt_region, $comm, $status, vt_result, vt_mpi_room(vt_result, $count, $datatype));
    return vt_result;
}

//// MPI_Isend MPI_Ibsend MPI_Issend MPI_Irsend
$FUNCTION
{
    $BEGIN
    const uint64_t vt_bytes = vt_mpi_bytes($count, $datatype);
    uint64_t vt_id = vt_mpi_isend_begin(vt_region, $comm, $dest, $tag, vt_bytes);
    $RESULT vt_result = $CALL;
    if (vt_id == VT_LATE) vt_id = vt_mpi_isend_late($comm, $dest, $tag, vt_bytes, vt_result);
    vt_mpi_isend_end(vt_region, vt_id, $request, vt_result);
    return vt_result;
}

//// MPI_Irecv
$FUNCTION
{
    $BEGIN
    vt_mpi_posts($count, $datatype);
    vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    vt_mpi_irecv_end(vt_region, $comm, $source, $request, vt_result);
    return vt_result;
}

//// MPI_Isendrecv
$FUNCTION
{
    $BEGIN
    const uint64_t vt_bytes = vt_mpi_bytes($sendcount, $sendtype);
    vt_mpi_posts($recvcount, $recvtype);
    uint64_t vt_id = vt_mpi_isend_begin(vt_region, $comm, $dest, $sendtag, vt_bytes);
    $RESULT vt_result = $CALL;
    if (vt_id == VT_LATE) vt_id = vt_mpi_isend_late($comm, $dest, $sendtag, vt_bytes, vt_result);
    vt_mpi_isendrecv_end(vt_region, vt_id, $comm, $source, $recvtag, vt_mpi_bytes($recvcount, $recvtype), $request,
                         vt_result);
    return vt_result;
}

//// MPI_Isendrecv_replace
$FUNCTION
{
    $BEGIN
    const uint64_t vt_bytes = vt_mpi_bytes($count, $datatype);
    vt_mpi_posts($count, $datatype);
    uint64_t vt_id = vt_mpi_isend_begin(vt_region, $comm, $dest, $sendtag, vt_bytes);
    $RESULT vt_result = $CALL;
    if (vt_id == VT_LATE) vt_id = vt_mpi_isend_late($comm, $dest, $sendtag, vt_bytes, vt_result);
    vt_mpi_isendrecv_end(vt_region, vt_id, $comm, $source, $recvtag, vt_mpi_bytes($count, $datatype), $request,
                         vt_result);
    return vt_result;
}

//// MPI_Send_init MPI_Bsend_init MPI_Ssend_init MPI_Rsend_init
$FUNCTION
{
    $BEGIN
    vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    if (vt_result == MPI_SUCCESS)
        vt_mpi_persistent(VT_REQUEST_SEND, $comm, $dest, $tag, vt_mpi_bytes($count, $datatype), $request);
    vt_leave(vt_region);
    return vt_result;
}

//// MPI_Recv_init
$FUNCTION
{
    $BEGIN
    vt_mpi_posts($count, $datatype);
    vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    const uint64_t vt_bytes = vt_mpi_bytes($count, $datatype);
    if (vt_result == MPI_SUCCESS) vt_mpi_persistent(VT_REQUEST_RECV, $comm, $source, $tag, vt_bytes, $request);
    vt_leave(vt_region);
    return vt_result;
}

//// MPI_Start
$FUNCTION
{
    $BEGIN
    struct vt_mpi_start vt_start;
    vt_mpi_start_begin(&vt_start, vt_region, 1, $request);
    $RESULT vt_result = $CALL;
    vt_mpi_start_end(&vt_start, vt_region, $request, vt_result);
    return vt_result;
}

//// MPI_Startall
$FUNCTION
{
    $BEGIN
    struct vt_mpi_start vt_start;
    vt_mpi_start_begin(&vt_start, vt_region, $count, $array_of_requests);
    $RESULT vt_result = $CALL;
    vt_mpi_start_end(&vt_start, vt_region, $array_of_requests, vt_result);
    return vt_result;
}

//// MPI_Mprobe
$FUNCTION
{
    $BEGIN
    vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    vt_mpi_probed(vt_region, $comm, $message, vt_result == MPI_SUCCESS);
    return vt_result;
}

//// MPI_Improbe
$FUNCTION
{
    $BEGIN
    vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    if (vt_result == MPI_SUCCESS && !*$flag) vt_mpi_poll_leave(vt_region);
    else vt_mpi_probed(vt_region, $comm, $message, vt_result == MPI_SUCCESS);
    return vt_result;
}

//// MPI_Iprobe
$FUNCTION
{
    $BEGIN
    vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    if (vt_result == MPI_SUCCESS && !*$flag) vt_mpi_poll_leave(vt_region);
    else vt_leave(vt_region);
    return vt_result;
}

//// MPI_Mrecv
$FUNCTION
{
    $BEGIN
    MPI_Status vt_status;
    struct vt_mpi_request *vt_message = vt_mpi_take_message($message);
    if ($status == MPI_STATUS_IGNORE) $status = &vt_status;
    vt_mpi_posts($count, $datatype);
    vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    vt_mpi_mrecv_end(vt_region, vt_message, $status, vt_result, vt_mpi_room(vt_result, $count, $datatype));
    return vt_result;
}

//// MPI_Imrecv
$FUNCTION
{
    $BEGIN
    struct vt_mpi_request *vt_message = vt_mpi_take_message($message);
    vt_mpi_posts($count, $datatype);
    vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    vt_mpi_imrecv_end(vt_region, vt_message, $request, vt_result);
    return vt_result;
}
