/* SPDX-License-Identifier: BSD-3-Clause */
/* Chunks to blocks. */
#ifndef VT_CODEC_H
#define VT_CODEC_H

#include <stdint.h>
#include "core.h"

/* clang-format off */
struct vt_encoded { uint8_t codec; const void *data; uint32_t bytes; };
/* clang-format on */
struct vt_codec_context;

#pragma GCC visibility push(hidden)

struct vt_codec_context *vt_codec_get(void); /* NULL: none free */
void vt_codec_put(struct vt_codec_context *x);
struct vt_encoded vt_encode(struct vt_codec_context *x, const struct vt_chunk *c, uint32_t raw_bytes);

#pragma GCC visibility pop

#endif
