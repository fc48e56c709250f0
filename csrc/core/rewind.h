/* SPDX-License-Identifier: BSD-3-Clause */
/* Discards the records of a location since its mark. The thread of the location calls these functions. */
#ifndef VT_REWIND_H
#define VT_REWIND_H

#include "location.h"

#pragma GCC visibility push(hidden)

/* Sets the mark. Requires that l->busy is clear. */
void vt_set_rewind_mark(struct vt_location *l);
/* Discards the records since the mark; prints a message if this is not possible. Requires that l->busy is clear. */
void vt_rewind(struct vt_location *l);
/* Discards the records after a moment (ticks) in the current chunk. Returns the number of regions entered since then
   and still open; `open` receives them. Requires that l->busy is set, or that the location records no more. */
unsigned vt_cut(struct vt_location *l, uint64_t when, uint64_t open[VT_OPEN_MAX]);

#pragma GCC visibility pop

#endif
