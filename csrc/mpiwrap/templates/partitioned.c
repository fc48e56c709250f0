/* SPDX-License-Identifier: BSD-3-Clause */
/* Partitioned communication (MPI-4.1, section 4.2): each start is one message, for any number of partitions. MPI_Pready
   and MPI_Parrived record enter and leave only. A receive states its source and tag in its arguments, so the status is
   not needed. Partitioned messages match only each other, not other messages of the same communicator, peer and tag. So
   their records name a separate communicator. */

//// MPI_Psend_init
$FUNCTION
{
    $BEGIN
    vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    if (vt_result == MPI_SUCCESS)
        vt_mpi_persistent(VT_REQUEST_PSEND, $comm, $dest, $tag, (uint64_t)$partitions * vt_mpi_bytes($count, $datatype),
                          $request);
    vt_leave(vt_region);
    return vt_result;
}

//// MPI_Precv_init
$FUNCTION
{
    $BEGIN
    vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    if (vt_result == MPI_SUCCESS)
        vt_mpi_persistent(VT_REQUEST_PRECV, $comm, $source, $tag,
                          (uint64_t)$partitions * vt_mpi_bytes($count, $datatype), $request);
    vt_leave(vt_region);
    return vt_result;
}
