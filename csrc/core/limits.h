/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions that are recorded so many times, which begin and end by calls of their own. The region, 0: this one is not
   recorded. */
#ifndef VT_LIMITS_H
#define VT_LIMITS_H

#include "location.h"

#pragma GCC visibility push(hidden)

uint32_t vt_limited_new(uint32_t region, int64_t limit); /* a number for it; 0: there are too many */
uint32_t vt_limited_begin(uint32_t number);
void vt_limited_leave_out(struct vt_location *l, uint32_t number); /* this thread has begun one that is not recorded */
uint32_t vt_limited_end(uint32_t number);
void vt_limited_reset(struct vt_location *l);

#pragma GCC visibility pop

#endif
