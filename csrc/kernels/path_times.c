/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the times of call paths from their file by blocks. The search for causes goes backwards in time, so most times
   are in a block that is in memory. */
#include "replayed.h"
#include <stdlib.h>

#define BLOCK 64u /* the least number of times in a block */
#define BLOCK_MAX 1024u
#define TIMES (1u << 20) /* times in memory, shared by all locations */

int vt_times_open(struct vt_time_blocks *t, uint64_t locations)
{
    for (t->block = BLOCK_MAX; t->block > BLOCK && TIMES / t->block < 4 * locations;) t->block /= 2;
    t->blocks = malloc(TIMES * sizeof *t->blocks);
    t->kept = calloc(TIMES / t->block, sizeof *t->kept);
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
    const uint64_t block = at / t->block, first = block * t->block, left = place->ntimes - first;
    const uint64_t slot = (location * 0x9e3779b1ull + block) % (TIMES / t->block);
    const uint64_t key = (uint64_t)location << 32 | (block + 1), count = left < t->block ? left : t->block;
    struct vt_path_time *here = t->blocks + slot * t->block;
    if (t->kept[slot] != key) {
        const uint64_t from = place->times_offset + first * sizeof *here;
        t->kept[slot] = 0;
        if (!vt_read_all((int)place->file, here, count * sizeof *here, from)) return NULL;
        t->kept[slot] = key;
    }
    *n = count - (at - first);
    return here + (at - first);
}
