/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow path of an event. All functions require that l->busy is set. */
#ifndef VT_SLOW_PATH_H
#define VT_SLOW_PATH_H

#include "location.h"

#pragma GCC visibility push(hidden)

/* Writes records of n words at the time `now` (ticks), after everything else that is due. */
void vt_put(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t now);
/* Writes the records of the calling thread to its files. */
void vt_write_out(struct vt_location *l);
/* Writes a FLUSH record for a flush that began at `begin` (ticks) and ends now. */
void vt_tell_flush(struct vt_location *l, uint64_t begin);

#pragma GCC visibility pop

#endif
