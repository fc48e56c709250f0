/* SPDX-License-Identifier: BSD-3-Clause */
/* What mpiwrap/init_finalize.c does not define by hand. */

//// MPI_Abort
$FUNCTION
{
    $BEGIN
    vt_enter(vt_region);
    vt_complete();
    $RESULT vt_result = $CALL;
    vt_leave(vt_region);
    return vt_result;
}
