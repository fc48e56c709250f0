/* SPDX-License-Identifier: BSD-3-Clause */
/* The position of the repair's replay in the ends of one location. The replay reads the ends in batches. */
#ifndef VT_CURSOR_H
#define VT_CURSOR_H

#include "repair.h"

struct vt_item;

struct vt_cursor {
    const struct vt_piece *piece, *last; /* last: end of the last piece */
    struct vt_end *ends; /* in memory; NULL before the first end and after the last end */
    struct vt_item *posted, *alone; /* items of the active blocking receive and blocking collective */
    uint32_t at, n, room, done, process; /* at: of n ends; room: in ends; done: of piece */
};

/* If at equals n: reads up to `batch` further ends. Returns VT_OK, VT_NO_MEMORY, or VT_NO_SPACE if the file cannot be
   read; after an error there are no ends. */
int vt_cursor_fill(struct vt_cursor *c, uint32_t batch);

#endif
