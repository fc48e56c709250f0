/* SPDX-License-Identifier: BSD-3-Clause */
/* Unpacks a block of a file, or a chunk of a buffer, to its records. All sizes come from the file and are checked. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "transcode.h"

#define RELEASE_BYTES (4u << 20)

/* libzstd's own prototypes: the first stable interface, unchanged since 1.0. */
static struct {
    void *(*create)(void);
    size_t (*free)(void *);
    size_t (*decompress)(void *, void *, size_t, const void *, size_t);
    vt_decompress *instead;
} zstd;

VT_EXPORT uint64_t vt_kernel_checksum(uint64_t seed, const void *data, uint64_t size)
{
    return vt_checksum(seed, data, size);
}

VT_EXPORT int vt_kernel_zstd(vt_decompress *instead)
{
    zstd.instead = instead;
    if (instead) return 1;
    void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return 0;
    *(void **)&zstd.create = dlsym(library, "ZSTD_createDCtx");
    *(void **)&zstd.free = dlsym(library, "ZSTD_freeDCtx");
    *(void **)&zstd.decompress = dlsym(library, "ZSTD_decompressDCtx");
    return zstd.create && zstd.free && zstd.decompress;
}

int vt_fail(struct vt_error *error, int code, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(error->text, sizeof error->text, format, values);
    va_end(values);
    return code;
}

struct vt_decoder *vt_decoder_new(void)
{
    struct vt_decoder *d = malloc(sizeof *d);
    if (!d) return NULL;
    d->context = zstd.instead || !zstd.create ? NULL : zstd.create();
    d->released = d->seen = 0;
    d->nopen = 0;
    return d;
}

static void release(struct vt_decoder *d)
{
    uint64_t page = 4095; /* with a larger page size the call fails and the memory stays, which is harmless */
    uint64_t begin = d->released & ~page, end = (d->seen + page) & ~page;
    if (end > begin) madvise((void *)(uintptr_t)begin, end - begin, MADV_DONTNEED);
    d->released = d->seen;
}

void vt_decoder_free(struct vt_decoder *d)
{
    if (!d) return;
    release(d);
    if (d->context) zstd.free(d->context);
    free(d);
}

void vt_release(struct vt_decoder *d, const struct vt_row *row)
{
    uint64_t head = vt_head_bytes(row);
    if (row->address != d->seen) {
        release(d);
        d->released = row->address;
    }
    d->seen = row->address + head + row->stored_bytes;
    if (d->seen - d->released >= RELEASE_BYTES) release(d);
}

/* Decompresses a frame. Returns the number of its bytes, or more than capacity for an error. */
static size_t unzstd(struct vt_decoder *d, void *into, size_t capacity, const uint8_t *stored, uint32_t nstored)
{
    if (zstd.instead) return zstd.instead(into, capacity, stored, nstored);
    return d->context ? zstd.decompress(d->context, into, capacity, stored, nstored) : SIZE_MAX;
}

/* Reads a LEB128 of 32 bits; NULL if the bytes end before, or the number is larger. */
static inline const uint8_t *leb(const uint8_t *p, const uint8_t *end, uint32_t *value)
{
    uint32_t v = 0;
    for (unsigned shift = 0; shift < 35 && p < end; shift += 7) {
        uint8_t byte = *p++;
        if (shift == 28 && byte > 15) return NULL;
        v |= (uint32_t)(byte & 127) << shift;
        if (byte < 128) {
            *value = v;
            return p;
        }
    }
    return NULL;
}

static int unvarint(uint64_t *words, uint32_t n, const uint8_t *p, const uint8_t *end)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t high, low;
        if (!(p = leb(p, end, &high)) || !(p = leb(p, end, &low))) return 0;
        words[i] = (uint64_t)high << 32 | (low >> 2 | low << 30);
    }
    return p == end;
}

static int decode_block(struct vt_decoder *d, const struct vt_row *row, struct vt_error *error)
{
    struct vt_block head;
    const uint8_t *stored = (const uint8_t *)(uintptr_t)row->address + vt_head_bytes(row);
    if (!vt_read_head(row, &head)) return vt_fail(error, VT_BAD_DATA, "wrong checksum");
    if (head.nopen > VT_OPEN_MAX) return vt_fail(error, VT_BAD_DATA, "too many open regions");
    d->nopen = head.nopen;
    memcpy(d->open, head.open, sizeof d->open);

    uint32_t raw = row->raw_bytes;
    if (row->codec != VT_RAW && row->codec != VT_ZSTD && raw % 8)
        return vt_fail(error, VT_BAD_DATA, "%u bytes are not whole words", raw);
    int good = 0;
    switch (row->codec) {
    case VT_RAW:
        good = row->stored_bytes == raw;
        if (good) memcpy(d->words, stored, raw);
        break;
    case VT_ZSTD: good = unzstd(d, d->words, raw, stored, row->stored_bytes) == raw; break;
    case VT_ZSTD_COLUMNS:
        good = vt_columns_join(d, unzstd(d, d->columns, sizeof d->columns, stored, row->stored_bytes), raw / 8);
        break;
    case VT_VARINT: good = unvarint(d->words, raw / 8, stored, stored + row->stored_bytes); break;
    default: return vt_fail(error, VT_BAD_DATA, "unknown codec %u", row->codec);
    }
    return good ? VT_OK : vt_fail(error, VT_BAD_DATA, "the block does not unpack to %u bytes", raw);
}

int vt_decode(struct vt_decoder *d, const struct vt_row *row, struct vt_error *error)
{
    error->offset = 0;
    if (row->raw_bytes > VT_RAW_MAX || (row->content != VT_DEFINITIONS && row->raw_bytes % 8))
        return vt_fail(error, VT_BAD_DATA, "%u bytes of records", row->raw_bytes);
    if (row->ticks > VT_TICKS_MAX) return vt_fail(error, VT_BAD_DATA, "impossible time");
    if (row->form != VT_FORM_CHUNK) return decode_block(d, row, error);
    struct vt_chunk head;
    memcpy(&head, (const void *)(uintptr_t)row->address, sizeof head);
    if (head.nopen > VT_OPEN_MAX) return vt_fail(error, VT_BAD_DATA, "too many open regions");
    d->nopen = head.nopen;
    memcpy(d->open, head.open, sizeof d->open);
    memcpy(d->words, (const uint8_t *)(uintptr_t)row->address + VT_CHUNK_DATA, row->raw_bytes);
    return VT_OK;
}

VT_EXPORT int vt_kernel_decode(const struct vt_row *row, uint8_t raw[VT_RAW_MAX], struct vt_error *error)
{
    struct vt_decoder *d = vt_decoder_new();
    if (!d) return VT_NO_MEMORY;
    int code = vt_decode(d, row, error);
    if (!code) memcpy(raw, d->words, row->raw_bytes);
    vt_release(d, row);
    vt_decoder_free(d);
    return code;
}
