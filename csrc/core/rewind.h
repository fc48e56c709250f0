/* SPDX-License-Identifier: BSD-3-Clause */
/* The calling thread's records since the mark are discarded. */
#ifndef VT_REWIND_H
#define VT_REWIND_H

#include "location.h"

#pragma GCC visibility push(hidden)

void vt_set_rewind_mark(void);
void vt_rewind(void);
unsigned vt_cut(struct vt_location *l, uint64_t when, uint64_t open[VT_OPEN_MAX]);

#pragma GCC visibility pop

#endif
