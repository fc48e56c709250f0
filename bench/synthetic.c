/* SPDX-License-Identifier: BSD-3-Clause */
/* For synthetic.py: the slow parts of writing blocks of the local format. */
#include "../csrc/core/columns.h"

/* Packs n words of records into columns, as the runtime does. Returns the number of bytes. */
uint64_t columns(const uint64_t *words, uint64_t n, uint8_t *into)
{
    static _Thread_local struct vt_packer packer; /* threads of synthetic.py -j write at the same time */
    uint64_t bytes = vt_columns_pack(&packer, words, (uint32_t)n, 0);
    memcpy(into, packer.columns, bytes);
    return bytes;
}

/* The checksum of a head and of the data after it. */
uint64_t checksum(const void *head, uint64_t head_bytes, const void *stored, uint64_t stored_bytes)
{
    return vt_checksum(vt_checksum(0, head, head_bytes), stored, stored_bytes);
}

uint64_t head_checksum(const void *head, uint64_t bytes) { return vt_checksum(0, head, bytes); }
