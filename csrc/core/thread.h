/* SPDX-License-Identifier: BSD-3-Clause */
/* How threads begin, what they are called, how they end. */
#ifndef VT_THREAD_H
#define VT_THREAD_H

#include "location.h"

#pragma GCC visibility push(hidden)

struct vt_location *vt_location_new(uint32_t thread);
void vt_location_here(struct vt_location *l); /* it is the calling thread's; NULL: the thread has none */
struct vt_location *vt_location_to_record(unsigned events);
int vt_thread_start(void); /* once; 0: nobody will know when threads end */
void vt_thread_watch(struct vt_location *l); /* by its thread */
const char *vt_thread_name(struct vt_location *l); /* as it is now; NULL: nobody has named it */
void vt_thread_begins(uint64_t number); /* by a thread that is new */
void vt_thread_helps(const char *library); /* by a new thread that a library has made for itself; a constant */
const char *vt_thread_helper(void); /* what the calling thread has said so; NULL: it has not */

#pragma GCC visibility pop

#endif
