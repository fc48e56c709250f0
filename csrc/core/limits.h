/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions with a limited number of recorded calls, which the program enters and leaves explicitly (the user API). */
#ifndef VT_LIMITS_H
#define VT_LIMITS_H

#include "location.h"

#pragma GCC visibility push(hidden)

/* Returns a number for a region of which only `limit` calls are recorded; 0: there are too many such regions. */
uint32_t vt_limited_new(uint32_t region, int64_t limit);
/* Returns 1 for a number that vt_limited_new has returned. */
int vt_limited_is_given(uint32_t number);
/* At the enter: returns the region; 0: the call is not recorded. */
uint32_t vt_limited_begin(uint32_t number);
/* Notes that the calling thread has entered the region without a record. */
void vt_limited_leave_out(struct vt_location *l, uint32_t number);
/* At the leave: returns the region; 0: the call is not recorded. */
uint32_t vt_limited_end(uint32_t number);
/* At the end: defines the classes of library calls that rules excluded, for the ledger. */
void vt_limits_define(struct vt_location *first);
/* Forgets the open calls of a location that another thread takes over. */
void vt_limited_reset(struct vt_location *l);

#pragma GCC visibility pop

#endif
