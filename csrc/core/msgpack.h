/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md) into memory of the caller. The runtime
   does not use a library for MessagePack, since it must not load one into the traced process. If the memory is too
   small, the writer sets `full` and writes nothing more. */
#ifndef VT_MSGPACK_H
#define VT_MSGPACK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct vt_mp {
    uint8_t *at, *end;
    int full;
};

static inline struct vt_mp vt_mp_into(void *memory, size_t bytes)
{
    struct vt_mp m = {(uint8_t *)memory, (uint8_t *)memory + bytes, 0};
    return m;
}

static inline void vt_mp_put(struct vt_mp *m, const void *bytes, size_t n)
{
    if (m->full || (size_t)(m->end - m->at) < n) {
        m->full = 1;
        return;
    }
    memcpy(m->at, bytes, n);
    m->at += n;
}

/* Writes a type byte and a big-endian number of n bytes. */
static inline void vt_mp_head(struct vt_mp *m, uint8_t type, uint64_t value, int n)
{
    uint8_t b[9] = {type};
    for (int i = 0; i < n; i++) b[1 + i] = (uint8_t)(value >> 8 * (n - 1 - i));
    vt_mp_put(m, b, 1 + (size_t)n);
}

static inline void vt_mp_nil(struct vt_mp *m) { vt_mp_head(m, 0xc0, 0, 0); }
static inline void vt_mp_bool(struct vt_mp *m, int yes) { vt_mp_head(m, yes ? 0xc3 : 0xc2, 0, 0); }

static inline void vt_mp_uint(struct vt_mp *m, uint64_t v)
{
    if (v < 128) vt_mp_head(m, (uint8_t)v, 0, 0);
    else if (v <= UINT8_MAX) vt_mp_head(m, 0xcc, v, 1);
    else if (v <= UINT16_MAX) vt_mp_head(m, 0xcd, v, 2);
    else if (v <= UINT32_MAX) vt_mp_head(m, 0xce, v, 4);
    else vt_mp_head(m, 0xcf, v, 8);
}

static inline void vt_mp_int(struct vt_mp *m, int64_t v)
{
    if (v >= 0) vt_mp_uint(m, (uint64_t)v);
    else vt_mp_head(m, 0xd3, (uint64_t)v, 8);
}

static inline void vt_mp_array(struct vt_mp *m, uint32_t n)
{
    if (n < 16) vt_mp_head(m, (uint8_t)(0x90 | n), 0, 0);
    else vt_mp_head(m, 0xdd, n, 4);
}

static inline void vt_mp_strn(struct vt_mp *m, const char *s, size_t n)
{
    if (n < 32) vt_mp_head(m, (uint8_t)(0xa0 | n), 0, 0);
    else if (n <= UINT8_MAX) vt_mp_head(m, 0xd9, n, 1);
    else vt_mp_head(m, 0xdb, n, 4);
    vt_mp_put(m, s, n);
}

/* Writes nil for NULL. */
static inline void vt_mp_str(struct vt_mp *m, const char *s)
{
    if (s) vt_mp_strn(m, s, strlen(s));
    else vt_mp_nil(m);
}

static inline void vt_mp_bin(struct vt_mp *m, const void *bytes, uint32_t n)
{
    vt_mp_head(m, 0xc6, n, 4);
    vt_mp_put(m, bytes, n);
}

#endif
