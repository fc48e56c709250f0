/* SPDX-License-Identifier: BSD-3-Clause */
/* A location's records since its mark are discarded, by its thread and not under busy. */
#ifndef VT_REWIND_H
#define VT_REWIND_H

#include "location.h"

#pragma GCC visibility push(hidden)

void vt_set_rewind_mark(struct vt_location *l);
void vt_rewind(struct vt_location *l);
unsigned vt_cut(struct vt_location *l, uint64_t when, uint64_t open[VT_OPEN_MAX]);

#pragma GCC visibility pop

#endif
