/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a recording process. */
#ifndef VT_PROCESS_H
#define VT_PROCESS_H

#include "location.h"

#pragma GCC visibility push(hidden)

struct vt_location *vt_location_of_thread(unsigned events); /* counts them as lost where it should record and cannot */
void vt_define_process(struct vt_location *l);
void vt_be_alone(void); /* claims rank 0's file names if this process has no rank and they are unused */

#pragma GCC visibility pop

#endif
