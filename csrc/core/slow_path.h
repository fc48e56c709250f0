/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow path of an event. */
#ifndef VT_SLOW_PATH_H
#define VT_SLOW_PATH_H

#include "location.h"

#pragma GCC visibility push(hidden)

void vt_put(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t now); /* under busy */
void vt_write_out(struct vt_location *l); /* what the calling thread has recorded; under busy */
void vt_tell_flush(struct vt_location *l, uint64_t begin); /* which began at these ticks; under busy */

#pragma GCC visibility pop

#endif
