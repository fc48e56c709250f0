/* SPDX-License-Identifier: BSD-3-Clause */
/* Stops recording before the end of the program. */
#ifndef VT_STOP_H
#define VT_STOP_H

#include "location.h"

#pragma GCC visibility push(hidden)

/* Stops a location for good. told: 1 if its LIMIT record is already written. Requires that l->busy is set. */
void vt_stop(struct vt_location *l, enum vt_lost why, int told);
/* Compares the bytes written with VT_MAX_SIZE. Runs after a location has written to its files. */
void vt_size_check(struct vt_location *l);
/* Applies the state of VT_MAX_SIZE to a location, at its next event. Requires that l->busy is set. */
void vt_size_follow(struct vt_location *l, uint64_t now);
/* Notes if VT_MAX_SIZE stops the calls of a new region first. paradigm, role: as in OTF2. */
void vt_size_region(uint32_t id, uint8_t paradigm, uint8_t role);
/* Returns 1 if VT_MAX_SIZE stops this record first. what: its first word. */
int vt_size_goes_first(uint32_t what);

#pragma GCC visibility pop

#endif
