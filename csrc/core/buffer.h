/* SPDX-License-Identifier: BSD-3-Clause */
/* The layer of the buffer: chunks without a location, and a chunk as a compressed block. */
#ifndef VT_BUFFER_H
#define VT_BUFFER_H

#include <stdint.h>
#include "settings.h"

#pragma GCC visibility push(hidden)

/* ---- buffer.c: the buffer and its chunks (format.h, struct vt_chunk) ---- */

#define VT_PROFILE_EVENTS (VT_CHUNK_SIZE / 4) /* part of a chunk that events use with VT_MODE=PROFILE, to save memory */
#define VT_LIMIT_WORDS 8 /* reserved in each chunk of events for two LIMIT records, each with a TIME record */

/* Creates the buffer file and maps its first segment; uses anonymous memory if the file cannot be created. Returns 0 if
   there is no memory. */
int vt_buffer_open(void);
/* Maps a little memory for definitions. vt_buffer_create creates the file, before the first chunk of events: a program
   that records nothing needs no file. Returns 0 if there is no memory. */
int vt_buffer_open_later(void);
/* 1: vt_buffer_create is still to be called. */
int vt_buffer_is_later(void);
/* As vt_buffer_open, after vt_buffer_open_later. The caller copies the chunks in memory, which remain mapped. */
int vt_buffer_create(void);
/* Copies the head of the process (vt_process.head) into the buffer file. */
void vt_buffer_tell(void);
/* Returns a chunk, which the caller owns from now on; NULL if there is no memory. */
struct vt_chunk *vt_chunk_take(void);
/* 1: the chunks of all locations together are smaller than VT_BUFFER_SIZE, or each thread has a buffer of its own size.
   A location whose chunks do not fit has one chunk at a time. */
int vt_buffer_has_room(void);
/* Returns a chunk to the buffer. */
void vt_chunk_give(struct vt_chunk *c);
/* Marks a written chunk as free; its location keeps the chunk for reuse. */
void vt_chunk_keep(struct vt_chunk *c);
/* Appends a full chunk to the list of chunks that wait to be written. */
void vt_chunk_append(struct vt_chunk **first, struct vt_chunk **last, struct vt_chunk *c);
/* Removes the oldest chunk of such a list, and adds its records to *dropped of the next chunk, before the caller
   releases the chunk: a reader of a dead process's buffer then finds the chunk or its count. *dropped: that of the chunk
   after the list. Returns NULL if the list is empty. */
struct vt_chunk *vt_chunk_drop(struct vt_chunk **first, struct vt_chunk **last, uint64_t *dropped);
/* 1: all chunks are in the buffer file, so all records outlive the process. */
int vt_buffer_in_file(void);
/* 1: the buffer file exists; another process may have removed the file. Also 1 if this process cannot look: it lacks
   the permission, or a chroot has changed its root directory. */
int vt_buffer_is_there(void);
/* The chunk after the head of the buffer file, for definitions at the program's end that fit nowhere else. Storing into
   the chunk needs no system call, and its bytes outlive the process. sequence, thread: those of the location whose
   definitions go into the chunk; the first use of the chunk increments *sequence. Returns NULL if there is no buffer
   file or the chunk is full. */
struct vt_chunk *vt_buffer_last_chunk(uint32_t *sequence, uint32_t thread);
/* 1: the chunk is lost when the process ends. */
int vt_chunk_in_memory(const struct vt_chunk *c);
/* Removes the buffer file, unless keep is 1. The mapping remains, since other threads may still store into it. */
void vt_buffer_close(int keep);
/* In a forked child: replaces the parent's chunks by anonymous memory. */
void vt_buffer_forget(void);
/* The next chunk of a list; NULL: c is the last. */
struct vt_chunk *vt_chunk_next(struct vt_chunk *c);

/* A profile without a ring needs few chunks, and a part of each. */
static inline int vt_buffer_is_small(void)
{
    return vt_process.set.mode == VT_MODE_PROFILE && !*vt_process.set.trigger;
}

static inline uint64_t *vt_chunk_end(struct vt_chunk *c) { return (uint64_t *)((char *)c + VT_CHUNK_SIZE); }
/* The end of the room for records of the program. */
static inline uint64_t *vt_chunk_limit(struct vt_chunk *c)
{
    const uint32_t bytes = vt_buffer_is_small() ? VT_PROFILE_EVENTS : VT_CHUNK_SIZE;
    return (uint64_t *)((char *)c + bytes) - VT_LIMIT_WORDS;
}
static inline uint64_t *vt_chunk_words(struct vt_chunk *c) { return (uint64_t *)((char *)c + VT_CHUNK_DATA); }
static inline uint32_t vt_chunk_used(const struct vt_chunk *c)
{
    uint32_t head = __atomic_load_n(&c->head, __ATOMIC_ACQUIRE);
    return (head ? head : VT_CHUNK_SIZE) - VT_CHUNK_DATA;
}

/* ---- codec.c: compression of chunks into blocks (format.h, struct vt_block) ---- */

/* clang-format off */
struct vt_encoded { uint8_t codec; const void *data; uint32_t bytes; }; /* codec: enum vt_codec */
/* clang-format on */
struct vt_codec_context;

/* Returns the working memory of a compression. NULL: none became free in time, or there is no memory. */
struct vt_codec_context *vt_codec_get(void);
void vt_codec_put(struct vt_codec_context *x);
/* Encodes the first raw_bytes bytes of a chunk's records. The result is valid until vt_codec_put. x NULL: does not
   compress. */
struct vt_encoded vt_encode(struct vt_codec_context *x, const struct vt_chunk *c, uint32_t raw_bytes);

#pragma GCC visibility pop

#endif
