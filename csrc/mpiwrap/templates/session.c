/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions of MPI-4. */

//// MPI_Session_init
$FUNCTION
{
    $TRACK
    if (vt_region != VT_MPI_GROUP_OFF) vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    vt_mpi_session_initialized($session, vt_result);
    if (vt_region != VT_MPI_GROUP_OFF) vt_leave(vt_region);
    return vt_result;
}

//// MPI_Session_finalize
$FUNCTION
{
    $TRACK
    if (vt_region != VT_MPI_GROUP_OFF) vt_enter(vt_region);
    vt_mpi_session_finalizing($session);
    $RESULT vt_result = $CALL;
    if (vt_region != VT_MPI_GROUP_OFF) vt_leave(vt_region);
    return vt_result;
}
