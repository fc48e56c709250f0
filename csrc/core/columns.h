/* SPDX-License-Identifier: BSD-3-Clause */
/* The records of a chunk as columns (format.h, struct vt_columns). This code allocates nothing and uses nothing else of
   the runtime: tests and benchmarks also write local files with these functions. */
#ifndef VT_COLUMNS_H
#define VT_COLUMNS_H

#include "format.h"

#define VT_COLUMNS_SLOTS 16384u /* a power of two, at least twice the words of a chunk */

/* Working memory of vt_columns_pack; zeros before the first call. */
struct vt_packer {
    uint64_t values[VT_CHUNK_WORDS], whats[VT_CHUNK_WORDS];
    uint16_t index[VT_CHUNK_WORDS], next[VT_CHUNK_WORDS], slots[VT_COLUMNS_SLOTS];
    uint8_t columns[VT_COLUMNS_MOST];
};

/* Writes n words of records into p->columns as columns. step: of the clock, as in struct vt_columns. Returns the number
   of bytes; 0 if the words are not whole records. */
uint32_t vt_columns_pack(struct vt_packer *p, const uint64_t *words, uint32_t n, uint32_t step);

#endif
