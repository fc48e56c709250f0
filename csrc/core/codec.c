/* SPDX-License-Identifier: BSD-3-Clause */
/* Compresses chunks into blocks, with zstd, or as LEB128 if there is no libzstd.so.1. This code may run inside a signal
   handler that interrupted malloc, so its memory comes from the kernel. zstd is called through its stable ABI, with
   prototypes of this file (zstd.h, "ZSTD_initStaticCCtx"). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include "buffer.h"
#include "columns.h"

#define CONTEXTS 2
/* Exceeds both zstd's bound (zstd.h, "ZSTD_COMPRESSBOUND") and the longest LEB128. */
#define OUT_BYTES (VT_COLUMNS_MOST + 1024)
#define LEVEL 1
#define CONTEXT_BYTES (sizeof(struct vt_codec_context) + zstd.context_bytes + 64)
#define AS_IT_IS (2u << 10) /* bytes of definitions: compressed, they take a block of the disk as well */
#define SMALL (16u << 10) /* bytes; for inputs up to this size zstd uses larger tables */

/* clang-format off */
struct zstd_parameters { unsigned window, chain, hash, search, match, target; int strategy; };
/* clang-format on */

static struct {
    size_t context_bytes; /* 0: there is no zstd */
    void *(*init)(void *memory, size_t bytes);
    size_t (*compress)(void *context, void *out, size_t room, const void *in, size_t n, int level);
    unsigned (*is_error)(size_t);
} zstd;

struct vt_codec_context {
    _Atomic uint32_t taken;
    void *zstd;
    struct vt_packer packer;
    uint8_t out[OUT_BYTES];
};

static struct vt_codec_context *_Atomic contexts[CONTEXTS];

/* A context is mapped when it is first used: memory may be scarce, and a second context is seldom needed. */
static struct vt_codec_context *make(void)
{
    struct vt_codec_context *x = vt_pages(CONTEXT_BYTES);
    if (!x || !zstd.context_bytes) return x;
    x->zstd = zstd.init((void *)(((uintptr_t)(x + 1) + 63) & ~(uintptr_t)63), zstd.context_bytes);
    return x;
}

static void *find(void *library, const char *name) { return library ? dlsym(library, name) : NULL; }

/* Opens the copy of libzstd that vtrace run --bundle puts beside this library. Not by a RUNPATH, which each dlopen of the
   program would follow. */
static void *open_copy(void)
{
    static const char name[] = "libvtrace-zstd.so";
    char path[4096];
    Dl_info own;
    const char *slash = dladdr(&zstd, &own) && own.dli_fname ? strrchr(own.dli_fname, '/') : NULL;
    const size_t n = slash ? (size_t)(slash - own.dli_fname) + 1 : sizeof path;
    if (n + sizeof name > sizeof path) return NULL;
    memcpy(path, own.dli_fname, n);
    memcpy(path + n, name, sizeof name);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* A constructor loads zstd, since loading a library takes memory and stack that a signal handler may not have. */
__attribute__((constructor)) static void open_zstd(void)
{
    int saved = errno;
    vt_suppressed = 1;
    void *lib = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib) lib = open_copy();
    struct zstd_parameters (*parameters)(int, unsigned long long, size_t);
    size_t (*estimate)(struct zstd_parameters);
    *(void **)&parameters = find(lib, "ZSTD_getCParams");
    *(void **)&estimate = find(lib, "ZSTD_estimateCCtxSize_usingCParams");
    *(void **)&zstd.init = find(lib, "ZSTD_initStaticCCtx");
    *(void **)&zstd.compress = find(lib, "ZSTD_compressCCtx");
    *(void **)&zstd.is_error = find(lib, "ZSTD_isError");
    if (parameters && estimate && zstd.init && zstd.compress && zstd.is_error) {
        size_t most = estimate(parameters(LEVEL, VT_COLUMNS_MOST, 0)), small = estimate(parameters(LEVEL, SMALL, 0));
        if (!zstd.is_error(most) && !zstd.is_error(small)) zstd.context_bytes = most > small ? most : small;
    }
    contexts[0] = make();
    vt_suppressed = 0;
    errno = saved;
}

/* Returns context number i; NULL: no memory. */
static struct vt_codec_context *context(int i)
{
    struct vt_codec_context *old = contexts[i], *x = old ? old : make();
    if (old || !x || atomic_compare_exchange_strong(&contexts[i], &old, x)) return x;
    VT_SYS2(munmap, x, CONTEXT_BYTES);
    return old;
}

struct vt_codec_context *vt_codec_get(void)
{
    for (int turn = 0; turn < 1000; turn++) {
        for (int i = 0; i < CONTEXTS; i++) {
            struct vt_codec_context *x = context(i);
            if (x && vt_try_lock(&x->taken)) return x;
        }
        VT_SYS0(sched_yield);
    }
    return NULL;
}

void vt_codec_put(struct vt_codec_context *x)
{
    if (x) atomic_store(&x->taken, 0);
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
    if (!x || !vt_process.set.compression || (!events && raw_bytes <= AS_IT_IS)) return e;
    if (x->zstd) {
        size_t n = events ? vt_columns_pack(&x->packer, words, raw_bytes / 8, vt_clock_step) : raw_bytes;
        const void *from = events ? x->packer.columns : (const void *)words;
        if (n) n = zstd.compress(x->zstd, x->out, sizeof x->out, from, n, LEVEL);
        if (n && !zstd.is_error(n)) return (struct vt_encoded){events ? VT_ZSTD_COLUMNS : VT_ZSTD, x->out, (uint32_t)n};
    }
    if (events) return (struct vt_encoded){VT_VARINT, x->out, varint(x->out, words, raw_bytes / 8)};
    return e;
}
