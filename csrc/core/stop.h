/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of recording before the end of the program. */
#ifndef VT_STOP_H
#define VT_STOP_H

#include "location.h"

#pragma GCC visibility push(hidden)

void vt_stop(struct vt_location *l, enum vt_lost why, int told);
void vt_size_look(struct vt_location *l);
void vt_size_follow(struct vt_location *l, uint64_t now);
void vt_size_region(uint32_t id, uint8_t paradigm, uint8_t role);
int vt_size_goes_first(uint32_t what);

#pragma GCC visibility pop

#endif
