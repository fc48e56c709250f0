/* SPDX-License-Identifier: BSD-3-Clause */
/* The buffer and its chunks. */
#ifndef VT_BUFFER_H
#define VT_BUFFER_H

#include <stdint.h>
#include "core.h"
#include "write.h"

#define VT_LIMIT_WORDS 8 /* of each chunk of events: for two LIMIT records, each perhaps behind a TIME */

#pragma GCC visibility push(hidden)

int vt_buffer_open(void);
void vt_buffer_tell(void);
struct vt_chunk *vt_chunk_take(void);
void vt_chunk_give(struct vt_chunk *c);
void vt_chunk_keep(struct vt_chunk *c);
void vt_chunk_append(struct vt_chunk **first, struct vt_chunk **last, struct vt_chunk *c);
int vt_buffer_in_file(void);
int vt_buffer_is_there(void);
struct vt_chunk *vt_buffer_last_chunk(uint32_t *sequence, uint32_t thread);
int vt_chunk_in_memory(const struct vt_chunk *c);
void vt_buffer_close(int keep);
void vt_buffer_forget(void); /* in a forked child */
struct vt_chunk *vt_chunk_next(struct vt_chunk *c);

#pragma GCC visibility pop

static inline uint64_t *vt_chunk_end(struct vt_chunk *c) { return (uint64_t *)((char *)c + VT_CHUNK_SIZE); }
/* Where the records of the program end. */
static inline uint64_t *vt_chunk_limit(struct vt_chunk *c) { return vt_chunk_end(c) - VT_LIMIT_WORDS; }
static inline uint64_t *vt_chunk_words(struct vt_chunk *c) { return (uint64_t *)((char *)c + VT_CHUNK_DATA); }
static inline uint32_t vt_chunk_used(const struct vt_chunk *c)
{
    uint32_t head = __atomic_load_n(&c->head, __ATOMIC_ACQUIRE);
    return (head ? head : VT_CHUNK_SIZE) - VT_CHUNK_DATA;
}

#endif
