/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait and Test. */

//// MPI_Wait
$FUNCTION
{
    $BEGIN
    struct vt_mpi_wait vt_wait;
    $status = vt_mpi_wait_begin(&vt_wait, vt_region, 1, $request, $status, MPI_STATUS_IGNORE);
    $RESULT vt_result = $CALL;
    vt_mpi_all_end(&vt_wait, vt_region, $request, NULL, vt_result);
    return vt_result;
}

//// MPI_Waitall
$FUNCTION
{
    $BEGIN
    struct vt_mpi_wait vt_wait;
    $array_of_statuses = vt_mpi_wait_begin(&vt_wait, vt_region, $count, $array_of_requests, $array_of_statuses,
                                           MPI_STATUSES_IGNORE);
    $RESULT vt_result = $CALL;
    vt_mpi_all_end(&vt_wait, vt_region, $array_of_requests, NULL, vt_result);
    return vt_result;
}

//// MPI_Test
$FUNCTION
{
    $BEGIN
    struct vt_mpi_wait vt_wait;
    $status = vt_mpi_wait_begin(&vt_wait, vt_region, 1, $request, $status, MPI_STATUS_IGNORE);
    $RESULT vt_result = $CALL;
    vt_mpi_all_end(&vt_wait, vt_region, $request, $flag, vt_result);
    return vt_result;
}

//// MPI_Testall
$FUNCTION
{
    $BEGIN
    struct vt_mpi_wait vt_wait;
    $array_of_statuses = vt_mpi_wait_begin(&vt_wait, vt_region, $count, $array_of_requests, $array_of_statuses,
                                           MPI_STATUSES_IGNORE);
    $RESULT vt_result = $CALL;
    vt_mpi_all_end(&vt_wait, vt_region, $array_of_requests, $flag, vt_result);
    return vt_result;
}

//// MPI_Waitany
$FUNCTION
{
    $BEGIN
    struct vt_mpi_wait vt_wait;
    $status = vt_mpi_wait_begin(&vt_wait, vt_region, $count, $array_of_requests, $status, MPI_STATUS_IGNORE);
    $RESULT vt_result = $CALL;
    vt_mpi_any_end(&vt_wait, vt_region, $array_of_requests, $index, NULL, vt_result);
    return vt_result;
}

//// MPI_Testany
$FUNCTION
{
    $BEGIN
    struct vt_mpi_wait vt_wait;
    $status = vt_mpi_wait_begin(&vt_wait, vt_region, $count, $array_of_requests, $status, MPI_STATUS_IGNORE);
    $RESULT vt_result = $CALL;
    vt_mpi_any_end(&vt_wait, vt_region, $array_of_requests, $index, $flag, vt_result);
    return vt_result;
}

//// MPI_Waitsome
$FUNCTION
{
    $BEGIN
    struct vt_mpi_wait vt_wait;
    $array_of_statuses = vt_mpi_wait_begin(&vt_wait, vt_region, $incount, $array_of_requests, $array_of_statuses,
                                           MPI_STATUSES_IGNORE);
    $RESULT vt_result = $CALL;
    vt_mpi_some_end(&vt_wait, vt_region, $array_of_requests, $outcount, $array_of_indices, false, vt_result);
    return vt_result;
}

//// MPI_Testsome
$FUNCTION
{
    $BEGIN
    struct vt_mpi_wait vt_wait;
    $array_of_statuses = vt_mpi_wait_begin(&vt_wait, vt_region, $incount, $array_of_requests, $array_of_statuses,
                                           MPI_STATUSES_IGNORE);
    $RESULT vt_result = $CALL;
    vt_mpi_some_end(&vt_wait, vt_region, $array_of_requests, $outcount, $array_of_indices, true, vt_result);
    return vt_result;
}

//// MPI_Cancel
$FUNCTION
{
    $BEGIN
    vt_enter(vt_region);
    vt_mpi_cancel();
    $RESULT vt_result = $CALL;
    vt_leave(vt_region);
    return vt_result;
}

//// MPI_Request_free
$FUNCTION
{
    $BEGIN
    vt_enter(vt_region);
    struct vt_mpi_request *vt_request = vt_mpi_free_request($request);
    $RESULT vt_result = $CALL;
    vt_mpi_freed(vt_request, vt_result);
    vt_leave(vt_region);
    return vt_result;
}
