/* SPDX-License-Identifier: BSD-3-Clause */
/* For synthetic.py: the slow parts of writing blocks of the local format. */
#include "../csrc/core/format.h"

/* Transposes n words to planes: all lowest bytes first. */
void planes(const uint64_t *words, uint64_t n, uint8_t *into)
{
    for (unsigned byte = 0; byte < 8; byte++)
        for (uint64_t i = 0; i < n; i++) into[byte * n + i] = (uint8_t)(words[i] >> 8 * byte);
}

/* The checksum of a head and what follows it. */
uint64_t checksum(const void *head, uint64_t head_bytes, const void *stored, uint64_t stored_bytes)
{
    return vt_checksum(vt_checksum(0, head, head_bytes), stored, stored_bytes);
}

uint64_t head_checksum(const void *head, uint64_t bytes) { return vt_checksum(0, head, bytes); }
