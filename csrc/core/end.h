/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a recording process. */
#ifndef VT_END_H
#define VT_END_H

#include "location.h"

#pragma GCC visibility push(hidden)

/* Registers vt_end as an exit handler, which runs after those registered later, and after all destructors. */
void vt_end_register(void);
/* Completes the files and ends recording. */
void vt_end(void);
/* Also keeps the process from recording again: the process ends without another call of vtrace. */
void vt_end_for_good(void);
/* 1: the last exit handler has run: records would never be completed. */
int vt_end_is_over(void);
/* Completes the files before an exec. Returns 0 if the files are not complete, for example because other threads
   run. */
int vt_suspend(void);
/* Continues recording after an exec that failed. */
void vt_resume(void);
/* Writes the records of the calling thread. A flight recorder writes the records of all threads, each at its next
   event. */
void vt_flush(void);
/* Completes the files of a location. Called by its thread, at the end of the thread. */
void vt_location_complete(struct vt_location *l);

#pragma GCC visibility pop

#endif
