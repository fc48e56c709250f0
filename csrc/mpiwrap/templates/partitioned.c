/* SPDX-License-Identifier: BSD-3-Clause */
/* Partitioned communication: one message from each Start on, whatever the partitions. MPI_Pready and MPI_Parrived have
   enter and leave only. A receive names its sender and tag itself, and its status need not. They match in an order of
   their own, apart from other messages of the same communicator, peer and tag: their records name a communicator that
   stands for it. */

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
