/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions beside those that init_finalize.c defines by hand. */

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
