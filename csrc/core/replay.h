/* SPDX-License-Identifier: BSD-3-Clause */
/* Replays the records of a chunk to find the regions that stay open. */
#ifndef VT_REPLAY_H
#define VT_REPLAY_H

#include "location.h"

#pragma GCC visibility push(hidden)

/* Stores the number and the classes of the records in a full chunk, and the open regions in its location. */
void vt_replay(struct vt_location *l, struct vt_chunk *c);
/* Returns the depth of the stack after n words; updates open and the smallest depth, *least. */
uint32_t vt_replay_part(uint64_t *open, uint32_t depth, const uint64_t *words, uint32_t n, uint32_t *least);
/* Returns the time (ticks) of the last published record. lost: events reported as lost up to then. */
uint64_t vt_replay_times(struct vt_chunk *c, uint64_t *lost);

#pragma GCC visibility pop

#endif
