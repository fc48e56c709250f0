/* SPDX-License-Identifier: BSD-3-Clause */
/* Switches recording off and on. */
#ifndef VT_SWITCH_H
#define VT_SWITCH_H

#include "location.h"

#pragma GCC visibility push(hidden)

/* Writes records of n words while recording is off, or after VT_MAX_SIZE has stopped classes. Requires that l->busy is
   set. */
void vt_put_switched(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t now);
/* Brings the location to the state of the process. Requires that l->busy is set. */
void vt_switch_follow(struct vt_location *l, uint64_t now);
/* Returns 1 if a function event is only counted. Requires that l->busy is set. */
int vt_leaves_out(struct vt_location *l, uint64_t what);
/* Returns 1 if a function event is omitted because recording is off, and nothing else is due. Requires that l->busy is
   set. Changes no vector register, like vt_leaves_out. */
int vt_passes_by(struct vt_location *l, uint32_t what, uint64_t now);
/* Registers the callbacks of a shim: for switches, and for the synchronization of clocks. */
void vt_switch_attach(const struct vt_shim *shim);
/* Registers the function of a shim that records MPI calls for the first section. */
void vt_sections_attach(const struct vt_shim *shim);
/* Informs the MPI shim that the program has sections. Only the first call has an effect. */
void vt_sections_begin(void);
/* Returns 1 unless recording is switched off or has ended. */
int vt_is_on(void);
/* Switches recording. own: location of the calling thread, with l->busy clear; NULL: none. when: ticks, not in the
   future; 0: now. */
void vt_switch_at(struct vt_location *own, int on, uint64_t when);
/* Defines a clock reading in the location, and lets the MPI shim measure the offsets to the clocks of other ranks. */
void vt_synchronize(struct vt_location *l);

#pragma GCC visibility pop

#endif
