/* SPDX-License-Identifier: BSD-3-Clause */
/* Recording off and on. */
#ifndef VT_SWITCH_H
#define VT_SWITCH_H

#include "location.h"

#pragma GCC visibility push(hidden)

void vt_put_switched(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t now); /* under busy */
void vt_switch_follow(struct vt_location *l, uint64_t now); /* under busy */
int vt_leaves_out(struct vt_location *l, uint64_t what); /* under busy */
void vt_switch_attach(const struct vt_shim *shim); /* it will be told */
int vt_is_on(void);
/* own: of the calling thread, not under busy; NULL: it has none. when: ticks, not later than now; 0: now. */
void vt_switch_at(struct vt_location *own, int on, uint64_t when);
void vt_synchronize(struct vt_location *l); /* and how far they are from those of other ranks */

#pragma GCC visibility pop

#endif
