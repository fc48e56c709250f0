/* SPDX-License-Identifier: BSD-3-Clause */
/* Compression of chunks into blocks (format.h, struct vt_block). */
#ifndef VT_CODEC_H
#define VT_CODEC_H

#include <stdint.h>
#include "core.h"

/* clang-format off */
struct vt_encoded { uint8_t codec; const void *data; uint32_t bytes; }; /* codec: enum vt_codec */
/* clang-format on */
struct vt_codec_context;

#pragma GCC visibility push(hidden)

/* Returns the working memory of a compression. NULL: none became free in time, or there is no memory. */
struct vt_codec_context *vt_codec_get(void);
void vt_codec_put(struct vt_codec_context *x);
/* Encodes the first raw_bytes bytes of a chunk's records. The result is valid until vt_codec_put. x NULL: does not
   compress. */
struct vt_encoded vt_encode(struct vt_codec_context *x, const struct vt_chunk *c, uint32_t raw_bytes);

#pragma GCC visibility pop

#endif
