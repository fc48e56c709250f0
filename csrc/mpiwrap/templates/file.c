/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI-IO. If the program ignores the status, vtrace passes a status of its own, which the record needs. Functions that
   only query or change attributes of a file have no template: they record enter and leave only. */

//// MPI_File_open
$FUNCTION
{
    $BEGIN
    vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    vt_mpi_file_opened(vt_region, $comm, $filename, $amode, $fh, vt_result);
    return vt_result;
}

//// MPI_File_close
$FUNCTION
{
    $BEGIN
    struct vt_mpi_file *vt_file = vt_mpi_file_close_begin(vt_region, $fh);
    $RESULT vt_result = $CALL;
    vt_mpi_file_close_end(vt_region, vt_file, $fh, vt_result);
    return vt_result;
}

//// MPI_File_delete
$FUNCTION
{
    $BEGIN
    vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    vt_mpi_file_deleted(vt_region, $filename, vt_result);
    return vt_result;
}

//// MPI_File_seek
$FUNCTION
{
    $BEGIN
    vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    vt_mpi_file_sought(vt_region, $fh, $offset, $whence, false, vt_result);
    return vt_result;
}

//// MPI_File_seek_shared
$FUNCTION
{
    $BEGIN
    vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    vt_mpi_file_sought(vt_region, $fh, $offset, $whence, true, vt_result);
    return vt_result;
}

//// MPI_File_sync
$FUNCTION
{
    $BEGIN
    struct vt_mpi_io vt_io;
    vt_mpi_io_begin(&vt_io, vt_region, $fh, VT_IO_FLUSH, VT_IO_COLLECTIVE, VT_IO_UNKNOWN);
    $RESULT vt_result = $CALL;
    vt_mpi_io_flushed(&vt_io, vt_region);
    return vt_result;
}

//// frame transfer
$FUNCTION
{
    $BEGIN
    MPI_Status vt_status;
    if ($status == MPI_STATUS_IGNORE) $status = &vt_status;
    struct vt_mpi_io vt_io;
    vt_mpi_io_begin(&vt_io, vt_region, $fh, $BODY, vt_mpi_bytes($count, $datatype));
    $RESULT vt_result = $CALL;
    vt_mpi_io_end(&vt_io, vt_region, $status, vt_result);
    return vt_result;
}

//// frame transfer_at
$FUNCTION
{
    $BEGIN
    MPI_Status vt_status;
    if ($status == MPI_STATUS_IGNORE) $status = &vt_status;
    struct vt_mpi_io vt_io;
    vt_mpi_io_begin_at(&vt_io, vt_region, $fh, $BODY, vt_mpi_bytes($count, $datatype), $offset);
    $RESULT vt_result = $CALL;
    vt_mpi_io_end(&vt_io, vt_region, $status, vt_result);
    return vt_result;
}

//// frame request
$FUNCTION
{
    $BEGIN
    struct vt_mpi_io vt_io;
    vt_mpi_io_begin(&vt_io, vt_region, $fh, $BODY, vt_mpi_bytes($count, $datatype));
    $RESULT vt_result = $CALL;
    vt_mpi_io_request(&vt_io, vt_region, $request, vt_result);
    return vt_result;
}

//// frame request_at
$FUNCTION
{
    $BEGIN
    struct vt_mpi_io vt_io;
    vt_mpi_io_begin_at(&vt_io, vt_region, $fh, $BODY, vt_mpi_bytes($count, $datatype), $offset);
    $RESULT vt_result = $CALL;
    vt_mpi_io_request(&vt_io, vt_region, $request, vt_result);
    return vt_result;
}

//// frame split
$FUNCTION
{
    $BEGIN
    struct vt_mpi_io vt_io;
    vt_mpi_io_begin(&vt_io, vt_region, $fh, $BODY, vt_mpi_bytes($count, $datatype));
    $RESULT vt_result = $CALL;
    vt_mpi_io_split(&vt_io, vt_region, vt_result);
    return vt_result;
}

//// frame split_at
$FUNCTION
{
    $BEGIN
    struct vt_mpi_io vt_io;
    vt_mpi_io_begin_at(&vt_io, vt_region, $fh, $BODY, vt_mpi_bytes($count, $datatype), $offset);
    $RESULT vt_result = $CALL;
    vt_mpi_io_split(&vt_io, vt_region, vt_result);
    return vt_result;
}

//// MPI_File_read MPI_File_read_shared : transfer
VT_IO_READ, VT_IO_ALONE

//// MPI_File_write MPI_File_write_shared : transfer
VT_IO_WRITE, VT_IO_ALONE

//// MPI_File_read_all MPI_File_read_ordered : transfer
VT_IO_READ, VT_IO_COLLECTIVE

//// MPI_File_write_all MPI_File_write_ordered : transfer
VT_IO_WRITE, VT_IO_COLLECTIVE

//// MPI_File_read_at : transfer_at
VT_IO_READ, VT_IO_ALONE

//// MPI_File_write_at : transfer_at
VT_IO_WRITE, VT_IO_ALONE

//// MPI_File_read_at_all : transfer_at
VT_IO_READ, VT_IO_COLLECTIVE

//// MPI_File_write_at_all : transfer_at
VT_IO_WRITE, VT_IO_COLLECTIVE

//// MPI_File_iread MPI_File_iread_shared : request
VT_IO_READ, VT_IO_NON_BLOCKING

//// MPI_File_iwrite MPI_File_iwrite_shared : request
VT_IO_WRITE, VT_IO_NON_BLOCKING

//// MPI_File_iread_all : request
VT_IO_READ, VT_IO_NON_BLOCKING | VT_IO_COLLECTIVE

//// MPI_File_iwrite_all : request
VT_IO_WRITE, VT_IO_NON_BLOCKING | VT_IO_COLLECTIVE

//// MPI_File_iread_at : request_at
VT_IO_READ, VT_IO_NON_BLOCKING

//// MPI_File_iwrite_at : request_at
VT_IO_WRITE, VT_IO_NON_BLOCKING

//// MPI_File_iread_at_all : request_at
VT_IO_READ, VT_IO_NON_BLOCKING | VT_IO_COLLECTIVE

//// MPI_File_iwrite_at_all : request_at
VT_IO_WRITE, VT_IO_NON_BLOCKING | VT_IO_COLLECTIVE

//// MPI_File_read_all_begin MPI_File_read_ordered_begin : split
VT_IO_READ, VT_IO_NON_BLOCKING | VT_IO_COLLECTIVE

//// MPI_File_write_all_begin MPI_File_write_ordered_begin : split
VT_IO_WRITE, VT_IO_NON_BLOCKING | VT_IO_COLLECTIVE

//// MPI_File_read_at_all_begin : split_at
VT_IO_READ, VT_IO_NON_BLOCKING | VT_IO_COLLECTIVE

//// MPI_File_write_at_all_begin : split_at
VT_IO_WRITE, VT_IO_NON_BLOCKING | VT_IO_COLLECTIVE

//// frame split_end
$FUNCTION
{
    $BEGIN
    MPI_Status vt_status;
    if ($status == MPI_STATUS_IGNORE) $status = &vt_status;
    vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    vt_mpi_io_split_end(vt_region, $fh, $status, vt_result);
    return vt_result;
}

//// MPI_File_read_all_end MPI_File_write_all_end MPI_File_read_at_all_end MPI_File_write_at_all_end : split_end

//// MPI_File_read_ordered_end MPI_File_write_ordered_end : split_end

