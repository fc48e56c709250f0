/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the ends of a location in batches from the file of ends. */
#define _GNU_SOURCE
#include "cursor.h"
#include <stdlib.h>
#include <unistd.h>

static int give_up(struct vt_cursor *c, int code)
{
    free(c->ends);
    c->ends = NULL;
    return code;
}

int vt_cursor_fill(struct vt_cursor *c, uint32_t batch)
{
    while (c->at == c->n) {
        if (c->piece != c->last && c->done == c->piece->count) {
            c->piece++;
            c->done = 0;
        }
        if (c->piece == c->last) return give_up(c, VT_OK);
        const uint32_t left = c->piece->count - c->done;
        if (!c->ends) {
            c->room = left < batch && c->piece + 1 == c->last ? left : batch;
            c->ends = malloc(c->room * sizeof *c->ends);
            if (!c->ends) return VT_NO_MEMORY;
        }
        c->n = left < c->room ? left : c->room;
        const size_t bytes = c->n * sizeof *c->ends;
        const off_t place = (off_t)(c->piece->offset + c->done * sizeof *c->ends);
        if (pread((int)c->piece->file, c->ends, bytes, place) != (ssize_t)bytes) return give_up(c, VT_NO_SPACE);
        c->done += c->n;
        c->at = 0;
    }
    return VT_OK;
}
