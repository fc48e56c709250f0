/* SPDX-License-Identifier: BSD-3-Clause */
/* The flight recorder (VT_MODE=RING). */
#ifndef VT_RING_H
#define VT_RING_H

#include "location.h"

#pragma GCC visibility push(hidden)

/* Releases the oldest chunk; returns 0 if there is none. Requires the lock of the location. */
int vt_ring_drop(struct vt_location *l);
/* Requests that all locations are written: each by its own thread, at its next event. */
void vt_ring_ask(void);
/* Returns 1 if a request has come that this location has not answered. */
int vt_ring_is_asked(const struct vt_location *l);
/* Notes that this location has answered all requests. */
void vt_ring_answered(struct vt_location *l);

#pragma GCC visibility pop

#endif
