/* SPDX-License-Identifier: BSD-3-Clause */
/* CPU time of threads, in user and in kernel mode, for the summaries of their locations. */
#ifndef VT_THREAD_TIME_H
#define VT_THREAD_TIME_H

#include "location.h"

#pragma GCC visibility push(hidden)

/* Microseconds. */
struct vt_cpu_time {
    uint64_t user, system;
};

/* Adds the CPU time of the calling thread, which ends, to that of its location. */
void vt_thread_time_end(struct vt_location *l);
/* Returns the CPU time of all threads of the location until now. */
struct vt_cpu_time vt_thread_time(struct vt_location *l);

#pragma GCC visibility pop

#endif
