/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks in files: lists them, and checks their heads. A block of a packed archive has a shorter head, without the unused
   places for open regions; its checksum covers the head (with 0 in its place) and the stored bytes, too. */
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include "transcode.h"

#define FIXED offsetof(struct vt_block, open)

uint64_t vt_head_bytes(const struct vt_row *row)
{
    switch ((enum vt_form)row->form) {
    case VT_FORM_BLOCK: return sizeof(struct vt_block);
    case VT_FORM_CHUNK: return VT_CHUNK_DATA;
    case VT_FORM_PACKED: return FIXED + row->nopen * sizeof(uint64_t);
    }
    __builtin_unreachable();
}

int vt_read_head(const struct vt_row *row, struct vt_block *head)
{
    const uint64_t size = vt_head_bytes(row);
    const uint8_t *at = (const uint8_t *)(uintptr_t)row->address;
    memset(head, 0, sizeof *head);
    memcpy(head, at, size);
    const uint64_t checksum = head->checksum;
    head->checksum = 0;
    return vt_checksum(vt_checksum(0, head, size), at + size, row->stored_bytes) == checksum;
}

VT_EXPORT uint64_t vt_kernel_pack(const struct vt_row *rows, uint32_t count, uint8_t *into)
{
    uint8_t *end = into;
    for (uint32_t i = 0; i < count; i++) {
        const struct vt_row *row = &rows[i];
        const uint8_t *stored = (const uint8_t *)(uintptr_t)row->address + sizeof(struct vt_block);
        const uint64_t size = FIXED + row->nopen * sizeof(uint64_t);
        struct vt_block head;
        memcpy(&head, (const void *)(uintptr_t)row->address, sizeof head);
        head.checksum = 0;
        head.checksum = vt_checksum(vt_checksum(0, &head, size), stored, row->stored_bytes);
        memcpy(end, &head, size);
        memcpy(end + size, stored, row->stored_bytes);
        end += size + row->stored_bytes;
    }
    return (uint64_t)(end - into);
}

/* content: of the file; events files also hold samples. */
static int is_block(const struct vt_block *b, uint8_t content, uint64_t rest)
{
    int fits =
        b->content == content || (content == VT_EVENTS && (b->content == VT_SAMPLES || b->content == VT_PROFILE));
    return !memcmp(b->magic, VT_BLOCK_MAGIC, sizeof b->magic) && b->version == VT_FORMAT_VERSION && fits &&
           b->codec <= VT_VARINT && b->raw_bytes <= VT_RAW_MAX && b->nopen <= VT_OPEN_MAX &&
           (content != VT_EVENTS || b->raw_bytes % 8 == 0) && b->stored_bytes <= rest;
}

/* Reads heads with pread: reading them through the map would make the whole file resident. */
static uint32_t list(int file, uint64_t size, uint64_t base, uint8_t content, struct vt_row *rows, uint32_t room,
                     uint64_t *at, enum vt_form form)
{
    struct vt_block b = {0};
    uint32_t n = 0;
    for (; n < room && *at + FIXED <= size; n++) {
        if (pread(file, &b, FIXED, (off_t)*at) != (ssize_t)FIXED) break;
        rows[n] = (struct vt_row){.form = form, .nopen = (uint8_t)b.nopen};
        const uint64_t head = vt_head_bytes(&rows[n]);
        if (*at + head > size || !is_block(&b, content, size - *at - head)) break;
        rows[n] = (struct vt_row){
            .address = base + *at,
            .form = form,
            .content = b.content,
            .codec = b.codec,
            .nopen = (uint8_t)b.nopen,
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
        *at += head + b.stored_bytes;
    }
    return n;
}

VT_EXPORT uint32_t vt_kernel_index(int file, uint64_t size, uint64_t base, uint8_t content, struct vt_row *rows,
                                   uint32_t room, uint64_t *at)
{
    return list(file, size, base, content, rows, room, at, VT_FORM_BLOCK);
}

VT_EXPORT uint32_t vt_kernel_index_packed(int file, uint64_t size, uint64_t base, uint8_t content, struct vt_row *rows,
                                          uint32_t room, uint64_t *at)
{
    return list(file, size, base, content, rows, room, at, VT_FORM_PACKED);
}
