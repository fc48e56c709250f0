/* SPDX-License-Identifier: BSD-3-Clause */
/* The regions that the records of a chunk leave open. */
#ifndef VT_REPLAY_H
#define VT_REPLAY_H

#include "location.h"

#pragma GCC visibility push(hidden)

void vt_replay(struct vt_location *l, struct vt_chunk *c);
uint32_t vt_replay_part(uint64_t *open, uint32_t depth, const uint64_t *words, uint32_t n, uint32_t *least);
uint64_t vt_replay_times(struct vt_chunk *c, uint64_t *lost);

#pragma GCC visibility pop

#endif
