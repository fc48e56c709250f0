/* SPDX-License-Identifier: BSD-3-Clause */
/* Chunks to blocks. May run inside a signal handler that interrupted malloc: all memory is prepared at the start.
   zstd is used through its stable ABI with own prototypes (zstd.h, "ZSTD_initStaticCCtx"), LEB128 where it is missing. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include "internal.h"

#define CONTEXTS 2
#define RAW_MOST (VT_CHUNK_SIZE - VT_CHUNK_DATA)
#define WORDS_MOST (RAW_MOST / 8)
#define OUT_BYTES (WORDS_MOST * 10 + 64) /* the longest LEB128; zstd's bound is less */
#define LEVEL 1

/* clang-format off */
struct zstd_parameters { unsigned window, chain, hash, search, match, target; int strategy; };
/* clang-format on */

static struct {
    size_t (*compress)(void *context, void *out, size_t room, const void *in, size_t n, int level);
    unsigned (*is_error)(size_t);
} zstd;

struct vt_codec_context {
    _Atomic uint32_t taken;
    void *zstd;
    uint8_t planes[RAW_MOST], out[OUT_BYTES];
};

static struct vt_codec_context *contexts[CONTEXTS];

static void *find(void *library, const char *name) { return library ? dlsym(library, name) : NULL; }

/* Before the program's own code: loading a library takes memory and stack that a signal handler may not have. */
__attribute__((constructor)) static void open_zstd(void)
{
    int saved = errno;
    void *lib = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    struct zstd_parameters (*parameters)(int, unsigned long long, size_t);
    size_t (*estimate)(struct zstd_parameters);
    void *(*init)(void *, size_t);
    *(void **)&parameters = find(lib, "ZSTD_getCParams");
    *(void **)&estimate = find(lib, "ZSTD_estimateCCtxSize_usingCParams");
    *(void **)&init = find(lib, "ZSTD_initStaticCCtx");
    *(void **)&zstd.compress = find(lib, "ZSTD_compressCCtx");
    *(void **)&zstd.is_error = find(lib, "ZSTD_isError");
    size_t bytes =
        parameters && estimate && init && zstd.compress && zstd.is_error ? estimate(parameters(LEVEL, RAW_MOST, 0)) : 0;
    if (bytes && zstd.is_error(bytes)) bytes = 0;
    for (int i = 0; i < CONTEXTS; i++) {
        struct vt_codec_context *x = vt_pages(sizeof *x + bytes + 64);
        if (!x) continue;
        x->zstd = bytes ? init((void *)(((uintptr_t)(x + 1) + 63) & ~(uintptr_t)63), bytes) : NULL;
        contexts[i] = x;
    }
    errno = saved;
}

struct vt_codec_context *vt_codec_get(void)
{
    for (int turn = 0; turn < 1000; turn++) {
        for (int i = 0; i < CONTEXTS; i++)
            if (contexts[i] && vt_try_lock(&contexts[i]->taken)) return contexts[i];
        VT_SYS0(sched_yield);
    }
    return NULL;
}

void vt_codec_put(struct vt_codec_context *x)
{
    if (x) atomic_store(&x->taken, 0);
}

/* Swaps the two blocks of a 2x2 arrangement of bit fields between two words. */
static inline void swap_fields(uint64_t *a, uint64_t *b, int shift, uint64_t mask)
{
    uint64_t t = ((*a >> shift) ^ *b) & mask;
    *b ^= t;
    *a ^= t << shift;
}

/* Byte k of word i goes to planes[k * n + i]: eight words at a time as an 8x8 matrix of bytes. */
static void transpose(uint8_t *planes, const uint64_t *words, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t r[8];
        memcpy(r, words + i, sizeof r);
        for (int k = 0; k < 4; k++) swap_fields(&r[k], &r[k + 4], 32, 0x00000000ffffffffu);
        for (int k = 0; k < 8; k += 4)
            for (int j = k; j < k + 2; j++) swap_fields(&r[j], &r[j + 2], 16, 0x0000ffff0000ffffu);
        for (int k = 0; k < 8; k += 2) swap_fields(&r[k], &r[k + 1], 8, 0x00ff00ff00ff00ffu);
        for (size_t k = 0; k < 8; k++) memcpy(planes + k * n + i, &r[k], 8);
    }
    for (; i < n; i++)
        for (size_t k = 0; k < 8; k++) planes[k * n + i] = (uint8_t)(words[i] >> 8 * k);
}

static uint8_t *leb128(uint8_t *at, uint32_t v)
{
    for (; v >= 128; v >>= 7) *at++ = (uint8_t)(v | 128);
    *at++ = (uint8_t)v;
    return at;
}

static uint32_t varint(uint8_t *out, const uint64_t *words, size_t n)
{
    uint8_t *at = out;
    for (size_t i = 0; i < n; i++) {
        uint32_t low = (uint32_t)words[i];
        at = leb128(at, (uint32_t)(words[i] >> 32));
        at = leb128(at, low << 2 | low >> 30);
    }
    return (uint32_t)(at - out);
}

struct vt_encoded vt_encode(struct vt_codec_context *x, const struct vt_chunk *c, uint32_t raw_bytes)
{
    const uint64_t *words = (const uint64_t *)((const char *)c + VT_CHUNK_DATA);
    struct vt_encoded e = {VT_RAW, words, raw_bytes};
    int events = c->content == VT_EVENTS;
    if (!x || !vt_process.set.compression) return e;
    if (x->zstd) {
        if (events) transpose(x->planes, words, raw_bytes / 8);
        size_t n =
            zstd.compress(x->zstd, x->out, sizeof x->out, events ? x->planes : (const void *)words, raw_bytes, LEVEL);
        if (!zstd.is_error(n)) return (struct vt_encoded){events ? VT_ZSTD_PLANES : VT_ZSTD, x->out, (uint32_t)n};
    }
    if (events) return (struct vt_encoded){VT_VARINT, x->out, varint(x->out, words, raw_bytes / 8)};
    return e;
}
