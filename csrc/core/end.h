/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a recording process. */
#ifndef VT_END_H
#define VT_END_H

#include "location.h"

#pragma GCC visibility push(hidden)

void vt_end(void); /* completes the files; nothing is recorded any more */
int vt_suspend(void); /* completes the files before an exec; 0: it cannot, for other threads run */
void vt_resume(void); /* after one that failed */
void vt_flush(
    void); /* writes out what the calling thread has recorded; of a flight recorder all threads, each when it can */
void vt_location_complete(struct vt_location *l); /* by its thread, at its end */

#pragma GCC visibility pop

#endif
