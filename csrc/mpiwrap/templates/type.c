/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes that communication can use: their sizes are needed later. */

//// frame made_type
$FUNCTION
{
    $TRACK
    if (vt_region != VT_MPI_GROUP_OFF) vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    if (vt_result == MPI_SUCCESS) vt_mpi_type_made(*$BODY);
    if (vt_region != VT_MPI_GROUP_OFF) vt_leave(vt_region);
    return vt_result;
}

//// MPI_Type_commit : made_type
$datatype

//// MPI_Type_dup MPI_Type_create_f90_integer MPI_Type_create_f90_real MPI_Type_create_f90_complex : made_type
$newtype
