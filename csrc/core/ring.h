/* SPDX-License-Identifier: BSD-3-Clause */
/* The flight recorder. */
#ifndef VT_RING_H
#define VT_RING_H

#include "location.h"

#pragma GCC visibility push(hidden)

int vt_ring_drop(struct vt_location *l); /* under the lock */
void vt_ring_ask(void); /* all locations are to be written: each by its thread, at its next event */
int vt_ring_is_asked(const struct vt_location *l);
void vt_ring_answered(struct vt_location *l);

#pragma GCC visibility pop

#endif
