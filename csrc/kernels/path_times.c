/* SPDX-License-Identifier: BSD-3-Clause */
/* The times of call paths, read from their file block by block. Causes are searched backwards in time, so the next times
   are mostly in a block that was read before. */
#include "replayed.h"
#include <stdlib.h>

#define BLOCK 64u /* times in a block */
#define BLOCKS (1u << 14) /* blocks in memory: one of each location, and more */

int vt_times_open(struct vt_time_blocks *t)
{
    t->blocks = malloc((size_t)BLOCKS * BLOCK * sizeof *t->blocks);
    t->kept = calloc(BLOCKS, sizeof *t->kept);
    return t->blocks && t->kept;
}

void vt_times_close(struct vt_time_blocks *t)
{
    free(t->blocks);
    free(t->kept);
}

const struct vt_path_time *vt_times_at(struct vt_replayed *r, uint32_t location, uint64_t at, uint64_t *n)
{
    struct vt_time_blocks *t = &r->times;
    const struct vt_location_ends *place = &r->out->places[location];
    const uint64_t block = at / BLOCK, first = block * BLOCK, left = place->ntimes - first;
    const uint64_t slot = (location * 0x9e3779b1ull + block) % BLOCKS, key = (uint64_t)location << 32 | (block + 1);
    struct vt_path_time *here = t->blocks + slot * BLOCK;
    const uint64_t count = left < BLOCK ? left : BLOCK;
    if (t->kept[slot] != key) {
        const uint64_t from = place->times_offset + first * sizeof *here;
        t->kept[slot] = 0;
        if (!vt_read_all((int)r->out->file, here, count * sizeof *here, from)) return NULL;
        t->kept[slot] = key;
    }
    *n = count - (at - first);
    return here + (at - first);
}
