/* SPDX-License-Identifier: BSD-3-Clause */
/* A recording process. process.c owns vt_process. */
#ifndef VT_PROCESS_H
#define VT_PROCESS_H

#include "location.h"

#pragma GCC visibility push(hidden)

/* Returns the location of the calling thread; creates it at the first event. Returns NULL if the thread is not
   recorded; then counts the events as lost, if recording was intended but not possible. */
struct vt_location *vt_location_of_thread(unsigned events);
/* Defines the properties of the process in this location: command, executable, directory, settings, groups. */
void vt_define_process(struct vt_location *l);
/* Claims rank 0's file names if this process has no rank and they are unused. */
void vt_be_alone(void);
/* Returns 1 if the process is a rank of MPI whose calls no shim records: only its libraries were linked by vtrace-cc. */
int vt_process_lacks_shim(void);

#pragma GCC visibility pop

#endif
