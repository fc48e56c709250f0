/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the blocks of a local file: place and head of each. */
#define _GNU_SOURCE
#include <stddef.h>
#include <unistd.h>
#include "transcode.h"

/* content: of the file; events files also hold samples. */
static int is_block(const struct vt_block *b, uint8_t content, uint64_t rest)
{
    int fits = b->content == content || (content == VT_EVENTS && b->content == VT_SAMPLES);
    return !memcmp(b->magic, VT_BLOCK_MAGIC, sizeof b->magic) && b->version == VT_FORMAT_VERSION && fits &&
           b->codec <= VT_VARINT && b->raw_bytes <= VT_RAW_MAX && b->nopen <= VT_OPEN_MAX &&
           (content != VT_EVENTS || b->raw_bytes % 8 == 0) && b->stored_bytes <= rest;
}

/* Reads heads with pread: reading them through the map would make the whole file resident. */
VT_EXPORT uint32_t vt_kernel_index(int file, uint64_t size, uint64_t base, uint8_t content, struct vt_row *rows,
                                   uint32_t room, uint64_t *at)
{
    const size_t fixed = offsetof(struct vt_block, open);
    struct vt_block b;
    uint32_t n = 0;
    for (; n < room && *at + sizeof b <= size; n++) {
        if (pread(file, &b, fixed, (off_t)*at) != (ssize_t)fixed) break;
        if (!is_block(&b, content, size - *at - sizeof b)) break;
        rows[n] = (struct vt_row){
            .address = base + *at,
            .content = b.content,
            .codec = b.codec,
            .location = b.location,
            .sequence = b.sequence,
            .thread = b.thread,
            .records = b.records,
            .classes = b.classes,
            .depth = b.depth,
            .raw_bytes = b.raw_bytes,
            .stored_bytes = b.stored_bytes,
            .ticks = b.ticks,
            .end_ticks = b.end_ticks,
            .lost = b.lost,
            .dropped = b.dropped,
            .pair = b.pair,
        };
        *at += sizeof b + b.stored_bytes;
    }
    return n;
}
