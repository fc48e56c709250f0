/* SPDX-License-Identifier: BSD-3-Clause */
/* Enter and leave only, for each function without another template. See wrappers/mpi_shim/generate.py for the
   notation. */

//// plain
$FUNCTION
{
    $BEGIN
    vt_enter(vt_region);
    $RESULT vt_result = $CALL;
    vt_leave(vt_region);
    return vt_result;
}

//// plain_void
$FUNCTION
{
    $BEGIN
    vt_enter(vt_region);
    $CALL;
    vt_leave(vt_region);
}
