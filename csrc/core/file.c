/* SPDX-License-Identifier: BSD-3-Clause */
/* The local files: names, heads, and blocks written straight with system calls, without keeping a descriptor open. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include "internal.h"

/* Guide 4.2.3.5: rank + 1 and the thread in hexadecimal; without a rank host, pid and start instead. */
static void path_of(char *into, uint32_t rank, uint32_t location, enum vt_content content)
{
    const struct vt_file *h = &vt_process.head;
    struct vt_text t = vt_text_into(into, VT_PATH);
    vt_text_add(&t, vt_process.set.gdir);
    vt_text_add(&t, "/");
    vt_text_add(&t, h->prefix);
    vt_text_add(&t, ".");
    if (rank == VT_NO_RANK) {
        vt_text_add(&t, "x");
        vt_text_add(&t, h->host);
        vt_text_add(&t, "-");
        vt_text_dec(&t, h->pid);
        vt_text_add(&t, "-");
        vt_text_hex(&t, h->start);
        if (location) {
            vt_text_add(&t, ".");
            vt_text_hex(&t, location);
        }
    } else {
        uint64_t id = (uint64_t)rank + 1;
        vt_text_hex(&t, location || id > 0xffff ? id << 16 | location : id);
    }
    vt_text_add(&t, content == VT_EVENTS ? ".events" : ".def");
    if (vt_process.set.compression) vt_text_add(&t, ".z");
}

static long write_head(long fd, struct vt_scratch *scratch, uint32_t location, enum vt_content content)
{
    struct vt_file *h = (struct vt_file *)scratch->head;
    memset(scratch->head, 0, sizeof scratch->head);
    *h = vt_process.head;
    h->content = (uint8_t)content;
    h->location = location;
    h->checksum = 0;
    h->checksum = vt_checksum(0, h, sizeof *h);
    long n = VT_SYS4(pwrite64, fd, scratch->head, sizeof scratch->head, 0);
    return n < 0 ? n : n == sizeof scratch->head ? 0 : -ENOSPC;
}

static long write_block(long fd, uint64_t *end, const struct vt_chunk *c, struct vt_codec_context *x)
{
    uint32_t raw = vt_chunk_used(c);
    struct vt_encoded e = vt_encode(x, c, raw);
    struct vt_block b = {.magic = VT_BLOCK_MAGIC, .version = VT_FORMAT_VERSION, .codec = e.codec, .content = c->content,
                         .raw_bytes = raw, .stored_bytes = e.bytes, .location = c->location, .sequence = c->sequence,
                         .thread = c->thread, .records = c->records, .classes = c->classes, .depth = c->depth,
                         .nopen = c->nopen, .ticks = c->ticks, .end_ticks = c->end_ticks, .lost = c->lost, .pair = c->pair};
    memcpy(b.open, c->open, c->nopen * sizeof *c->open);
    b.checksum = vt_checksum(vt_checksum(0, &b, sizeof b), e.data, e.bytes);
    struct iovec parts[2] = {{&b, sizeof b}, {(void *)(uintptr_t)e.data, e.bytes}};
    long n = VT_SYS6(pwritev, fd, parts, 2, *end, 0, 0);
    if (n == (long)(sizeof b + e.bytes)) {
        *end += (uint64_t)n;
        return 0;
    }
    VT_SYS2(ftruncate, fd, *end); /* no half block stays: the chunk in the buffer is whole */
    return n < 0 ? n : -ENOSPC;
}

/* A new file with its head, or nothing: it gets its name when the head stands in it. scratch->path is the name. */
static long create(struct vt_scratch *scratch, uint32_t location, enum vt_content content)
{
    struct vt_text t = vt_text_into(scratch->other, sizeof scratch->other);
    vt_text_add(&t, scratch->path);
    vt_text_add(&t, ".tmp");
    long fd = VT_SYS4(openat, AT_FDCWD, scratch->other, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return fd;
    long r = write_head(fd, scratch, location, content);
    if (r >= 0) r = VT_SYS4(renameat, AT_FDCWD, scratch->other, AT_FDCWD, scratch->path);
    if (r >= 0) return fd;
    VT_SYS3(unlinkat, AT_FDCWD, scratch->other, 0);
    VT_SYS1(close, fd);
    return r;
}

static long open_for(struct vt_location *l, enum vt_content content, uint64_t *end)
{
    struct stat s;
    path_of(l->scratch.path, vt_process.head.rank, l->number, content);
    if (!(l->files & 1u << content)) {
        long fd = create(&l->scratch, l->number, content);
        if (fd >= 0) l->files |= 1u << content;
        *end = VT_FILE_HEAD;
        return fd;
    }
    long fd = VT_SYS4(openat, AT_FDCWD, l->scratch.path, O_WRONLY | O_CLOEXEC, 0);
    if (fd < 0) return fd;
    long r = VT_SYS2(fstat, fd, &s);
    *end = (uint64_t)s.st_size;
    if (r >= 0) return fd;
    VT_SYS1(close, fd);
    return r;
}

static struct vt_chunk *next_of(const struct vt_chunk *c) { return (struct vt_chunk *)((uintptr_t)c->next * VT_CHUNK_SIZE); }

/* Appends the chunks of a list, giving each back once it is written; those left in the list stay in the buffer. */
static long write_list(struct vt_location *l, enum vt_content content, struct vt_chunk **first, struct vt_chunk **last)
{
    uint64_t end = 0;
    long r = 0;
    if (!*first && (content == VT_EVENTS || l->files & 1u << content)) return 0;
    long fd = open_for(l, content, &end);
    if (fd >= 0) {
        uint64_t begin = end;
        struct vt_codec_context *x = vt_codec_get();
        while (*first && (r = write_block(fd, &end, *first, x)) >= 0) {
            struct vt_chunk *c = *first;
            *first = next_of(c);
            vt_chunk_give(c);
            if (content == VT_EVENTS) l->chunks--;
        }
        vt_codec_put(x);
        VT_SYS1(close, fd);
        l->written_bytes += end - begin;
    } else r = fd;
    if (!*first) *last = NULL;
    if (r < 0) {
        l->unwritten = 1;
        vt_warn("%s cannot be written (%s): recording of the thread stops, what is recorded stays in the buffer; "
                "VT_PFORM_GDIR names another directory", l->scratch.path,
                r == -ENOSPC || r == -EDQUOT ? "no space left" : r == -EFBIG ? "file size limit" : r == -ENOENT ?
                "no such directory" : "write failed");
    }
    return r;
}

/* Definitions first: events must never lie in a file whose definitions were lost. */
int vt_file_flush(struct vt_location *l)
{
    uint64_t mask;
    if (l->unwritten) return -EIO;
    vt_hold_signals(&mask);
    if (l->defs) {
        struct vt_chunk *c = l->defs;
        c->next = 0;
        __atomic_store_n(&c->state, VT_CHUNK_FULL, __ATOMIC_RELEASE);
        if (l->defs_last) l->defs_last->next = (uint32_t)((uintptr_t)c / VT_CHUNK_SIZE);
        else l->defs_full = c;
        l->defs_last = c;
        l->defs = NULL;
    }
    long r = write_list(l, VT_DEFINITIONS, &l->defs_full, &l->defs_last);
    if (r >= 0) r = write_list(l, VT_EVENTS, &l->full, &l->full_last);
    vt_release_signals(&mask);
    return (int)r;
}

void vt_file_start(void)
{
    uint64_t mask;
    path_of(vt_scratch.path, vt_process.head.rank, 0, VT_DEFINITIONS);
    vt_hold_signals(&mask);
    long fd = create(&vt_scratch, 0, VT_DEFINITIONS);
    if (fd >= 0) VT_SYS1(close, fd);
    vt_release_signals(&mask);
}

/* The files that location l (NULL: number 0, before it has any) already has get the process's present name and head. */
void vt_file_rename(struct vt_location *l, uint32_t old_rank)
{
    struct vt_scratch *scratch = l ? &l->scratch : &vt_scratch;
    uint32_t number = l ? l->number : 0;
    for (enum vt_content content = VT_EVENTS; content <= VT_DEFINITIONS; content++) {
        int started = content == VT_DEFINITIONS && !number;
        if (!started && !(l && l->files & 1u << content)) continue;
        path_of(scratch->other, old_rank, number, content);
        path_of(scratch->path, vt_process.head.rank, number, content);
        if (VT_SYS4(renameat, AT_FDCWD, scratch->other, AT_FDCWD, scratch->path) < 0) {
            vt_warn("%s cannot be renamed to %s", scratch->other, scratch->path);
            continue;
        }
        long fd = VT_SYS4(openat, AT_FDCWD, scratch->path, O_WRONLY | O_CLOEXEC, 0);
        if (fd < 0) continue;
        write_head(fd, scratch, number, content);
        VT_SYS1(close, fd);
        if (l) l->files |= 1u << content;
    }
}

/* Whether another program has completed files of rank 0 under this prefix since this one started. */
int vt_file_name_taken(void)
{
    struct stat s;
    path_of(vt_scratch.path, 0, 0, VT_DEFINITIONS);
    if (VT_SYS4(newfstatat, AT_FDCWD, vt_scratch.path, &s, 0) < 0) return 0;
    return (uint64_t)s.st_mtim.tv_sec * 1000000000u + (uint64_t)s.st_mtim.tv_nsec >= vt_process.head.start;
}

void vt_file_uctl(void)
{
    static char text[256];
    const struct vt_file *h = &vt_process.head;
    struct vt_text t = vt_text_into(vt_scratch.path, sizeof vt_scratch.path);
    vt_text_add(&t, vt_process.set.gdir);
    vt_text_add(&t, "/");
    vt_text_add(&t, h->prefix);
    vt_text_add(&t, ".uctl");
    t = vt_text_into(vt_scratch.other, sizeof vt_scratch.other);
    vt_text_add(&t, vt_scratch.path);
    vt_text_add(&t, ".tmp");
    vt_text_dec(&t, h->pid);
    t = vt_text_into(text, sizeof text);
    vt_text_add(&t, "vtrace uctl 1\nrun ");
    for (int i = 0; i < 16; i++) {
        vt_text_hex(&t, h->run[i] >> 4);
        vt_text_hex(&t, h->run[i] & 15);
    }
    vt_text_add(&t, "\nworld ");
    vt_text_hex(&t, h->world);
    vt_text_add(&t, "\nranks ");
    vt_text_dec(&t, h->world_size);
    vt_text_add(&t, "\ntool ");
    vt_text_add(&t, h->tool);
    vt_text_add(&t, "\n");
    long fd = VT_SYS4(openat, AT_FDCWD, vt_scratch.other, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return;
    long n = VT_SYS3(write, fd, text, t.at - text);
    VT_SYS1(close, fd);
    if (n == t.at - text) VT_SYS4(renameat, AT_FDCWD, vt_scratch.other, AT_FDCWD, vt_scratch.path);
    else VT_SYS3(unlinkat, AT_FDCWD, vt_scratch.other, 0);
}
