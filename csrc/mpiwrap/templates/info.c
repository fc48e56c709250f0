/* SPDX-License-Identifier: BSD-3-Clause */
/* Info objects with the location of a program for MPI_Comm_spawn. */

//// frame info
$FUNCTION
{
    $TRACK
    if (vt_region != VT_MPI_GROUP_OFF) vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    if (vt_result == MPI_SUCCESS) $BODY;
    if (vt_region != VT_MPI_GROUP_OFF) vt_leave(vt_region);
    return vt_result;
}

//// MPI_Info_create : info
vt_mpi_info_made(*$info, NULL, false)

//// MPI_Info_create_env : info
vt_mpi_info_made(*$info, NULL, true)

//// MPI_Info_dup : info
vt_mpi_info_made(*$newinfo, &$info, false)

//// MPI_Info_set : info
vt_mpi_info_set($info, $key, true)

//// MPI_Info_delete : info
vt_mpi_info_set($info, $key, false)
