/* SPDX-License-Identifier: BSD-3-Clause */
/* The Fortran part of init_finalize.c. The binding may call the C function, which then does the rest. */

//// MPI_Init MPI_Init_thread
$FUNCTION
{
    const uint32_t vt_region = $REGION;
    $LOCALS
    if (vt_region) vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    if (vt_result == MPI_SUCCESS) vt_mpi_initialized();
    if (vt_region) vt_leave(vt_region);
    return vt_result;
}

//// MPI_Finalize
$FUNCTION
{
    const uint32_t vt_region = $REGION;
    $LOCALS
    if (vt_region) vt_enter(vt_region);
    vt_mpi_finalizing();
    $RESULT vt_result = $CALL;
    if (vt_region) vt_leave(vt_region);
    return vt_result;
}

//// MPI_Pcontrol
$FUNCTION
{
    $LOCALS
    const bool vt_ours = $KNOWN != 0;
    if (vt_ours) vt_mpi_control($level, false);
    const uint32_t vt_region = $REGION;
    if (vt_region) vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    if (vt_region) vt_leave(vt_region);
    if (vt_ours) vt_mpi_control($level, true);
    return vt_result;
}
