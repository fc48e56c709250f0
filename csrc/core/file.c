/* SPDX-License-Identifier: BSD-3-Clause */
/* Names, heads and blocks of the local files. This code makes system calls directly and keeps no descriptor open. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include "location.h"

/* File names as in the guide, 4.2.3.5: rank + 1 and the location in hexadecimal. Without a rank: host, pid and
   start. */
static void path_of(char *into, const char *prefix, uint32_t rank, uint32_t location, enum vt_content content)
{
    struct vt_text t = vt_text_into(into, VT_PATH);
    vt_text_add(&t, vt_process.set.gdir, "/", prefix, ".");
    if (rank == VT_NO_RANK) {
        vt_place_add_process(&t);
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

/* Writes both parts completely, or returns -errno. A file size limit or a full disk may allow a part of them. */
static long write_all(long fd, struct iovec parts[2], uint64_t at)
{
    while (parts[0].iov_len + parts[1].iov_len) {
        long n = vt_written(VT_SYS6(pwritev, fd, parts, 2, at, 0, 0));
        if (n <= 0) return n ? n : -ENOSPC;
        at += (uint64_t)n;
        for (int i = 0; i < 2; i++) {
            size_t done = (size_t)n < parts[i].iov_len ? (size_t)n : parts[i].iov_len;
            parts[i].iov_base = (char *)parts[i].iov_base + done;
            parts[i].iov_len -= done;
            n -= (long)done;
        }
    }
    return 0;
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
    struct iovec parts[2] = {{scratch->head, sizeof scratch->head}, {NULL, 0}};
    return write_all(fd, parts, 0);
}

/* What write_block returns for records that the budget has no room for. */
#define BEYOND 2L

static long write_block(long fd, uint64_t *end, const struct vt_chunk *c, struct vt_codec_context *x)
{
    uint32_t raw = c->used;
    struct vt_encoded e = vt_encode(x, c, raw);
    /* clang-format off */
    struct vt_block b = {.magic = VT_BLOCK_MAGIC, .version = VT_FORMAT_VERSION, .codec = e.codec, .content = c->content,
                         .raw_bytes = raw, .stored_bytes = e.bytes, .location = c->location, .sequence = c->sequence,
                         .thread = c->thread, .records = c->records, .classes = c->classes, .depth = c->depth,
                         .nopen = c->nopen, .ticks = c->ticks, .end_ticks = c->end_ticks, .lost = c->lost,
                         .dropped = c->dropped, .pair = c->pair};
    /* clang-format on */
    memcpy(b.open, c->open, c->nopen * sizeof *c->open);
    b.checksum = vt_checksum(vt_checksum(0, &b, sizeof b), e.data, e.bytes);
    struct iovec parts[2] = {{&b, sizeof b}, {(void *)(uintptr_t)e.data, e.bytes}};
    const uint64_t bytes = sizeof b + e.bytes;
    const int must = c->content == VT_DEFINITIONS || c->content == VT_PROFILE;
    if (!vt_budget_take(bytes, must)) return must ? -EDQUOT : BEYOND;
    long r = write_all(fd, parts, *end);
    if (r >= 0) {
        *end += bytes;
        if (c->content == VT_EVENTS) vt_budget_wrote(raw, bytes);
        return r;
    }
    atomic_fetch_sub(&vt_process.written, bytes);
    VT_SYS2(ftruncate, fd, *end); /* removes the partial block; the buffer has the whole chunk */
    return r;
}

/* Creates the file scratch->path with its head. The file gets this name after the head is written, so no file lacks its
   head. Returns a descriptor or -errno. */
static long create(struct vt_scratch *scratch, uint32_t location, enum vt_content content)
{
    struct vt_text t = vt_text_into(scratch->other, sizeof scratch->other);
    vt_text_add(&t, scratch->path, ".tmp");
    long fd = vt_create_temporary(scratch->other, &scratch->made[content]);
    if (fd < 0) {
        if (fd == -EEXIST) strcpy(scratch->path, scratch->other); /* the name for messages */
        return fd;
    }
    long r = write_head(fd, scratch, location, content);
    if (r >= 0) r = vt_replace(scratch->other, scratch->path, &scratch->made[content]);
    if (r >= 0) return fd;
    VT_SYS3(unlinkat, AT_FDCWD, scratch->other, 0);
    VT_SYS1(close, fd);
    return r;
}

static _Atomic int has_started; /* the def file that vt_file_start created is not in use yet */
static _Atomic int is_stale;    /* the head of this file has an earlier name */

/* Opens the file of vt_file_start at its first use. */
static long open_started(struct vt_location *l, enum vt_content content)
{
    if (content != VT_DEFINITIONS || l->number || !atomic_exchange(&has_started, 0)) return -ENOENT;
    l->scratch.made[content] = vt_scratch.made[content];
    if (atomic_exchange(&is_stale, 0)) l->stale |= 1u << content;
    return vt_reopen(l->scratch.path, O_WRONLY, &l->scratch.made[content]);
}

/* Opens or creates a file of a location; *end: its size. Returns a descriptor or -errno. */
static long open_for(struct vt_location *l, enum vt_content content, uint64_t *end)
{
    struct stat s;
    uint64_t mask;
    vt_lock(&vt_process.naming, &mask); /* names must not change between path_of and l->files */
    path_of(l->scratch.path, vt_process.head.prefix, vt_process.name_rank, l->number, content);
    int old = l->files & 1u << content;
    long fd = old ? vt_reopen(l->scratch.path, O_WRONLY, &l->scratch.made[content]) : open_started(l, content);
    if (!old && fd < 0) fd = create(&l->scratch, l->number, content);
    vt_unlock(&vt_process.naming, &mask);
    if (fd < 0) return fd;
    l->files |= 1u << content;
    long r = old ? VT_SYS2(fstat, fd, &s) : 0;
    if (r >= 0 && l->stale & 1u << content && (r = write_head(fd, &l->scratch, l->number, content)) >= 0)
        l->stale &= ~(1u << content);
    *end = old ? (uint64_t)s.st_size : VT_FILE_HEAD;
    if (r >= 0) return fd;
    VT_SYS1(close, fd);
    return r;
}

#define VT_SIGNAL_WAITS 1
#define ALL UINT32_MAX
#define ROOM_OF_END 4096u

/* If the buffer is in memory, reserves disk space in the def file for the definitions of the end, so that events cannot
   take the last space of the disk. bytes: size of the definitions that are written first. Returns -ENOSPC if there is
   not enough space; ignores other failures. */
static long keep_room(long fd, uint64_t at, uint64_t bytes)
{
    if (vt_buffer_in_file()) return 0;
    long r = vt_written(VT_SYS4(fallocate, fd, FALLOC_FL_KEEP_SIZE, at, bytes + ROOM_OF_END));
    return r == -ENOSPC ? r : 0;
}

/* A rewind cannot discard written records. */
static void void_mark(struct vt_location *l)
{
    l->mark.chunk = NULL;
    l->mark.voided = 1;
}

static int is_next(const struct vt_location *l, int content, const struct vt_chunk *c)
{
    return c && (content == VT_DEFINITIONS || l->to_write);
}

/* Takes a written chunk out of its list. */
static void release(struct vt_location *l, int content, struct vt_chunk **first)
{
    struct vt_chunk *c = *first;
    *first = vt_chunk_next(c);
    if (content != VT_DEFINITIONS) l->to_write--;
    if (content == VT_EVENTS && l->wants_spare && (!*first || !l->to_write)) {
        vt_chunk_keep(c);
        l->spare = c;
    } else vt_chunk_give(c);
    if (content == VT_EVENTS) VT_SET(l->chunks, l->chunks - 1);
    if (content == VT_SAMPLES) l->samples.chunks--;
}

/* A chunk that does not fit into the budget: its events are lost, and recording ends. */
static void drop(struct vt_location *l, struct vt_chunk *c)
{
    uint64_t told;
    l->is_beyond = 1;
    if (c->content == VT_EVENTS) {
        l->lost_why = vt_size_reason();
        atomic_fetch_add(&l->lost, vt_events_in(vt_chunk_words(c), c->used / 8));
        vt_replay_times(c, &told);
        l->lost_told -= told - c->lost; /* its LOST records are missing, too */
        VT_SET(l->records, l->records - c->records);
    }
    atomic_store(&vt_process.full, VT_FULL_ALL);
    vt_limits_clear();
}

/* Appends the chunks of a list to a file, and returns each written chunk to the buffer. Unwritten chunks remain in the
   list. The function stops between two chunks if a signal is pending for this thread. Samples go into the events
   file. */
static long write_chunks(struct vt_location *l, int content, struct vt_chunk **first)
{
    uint64_t end = 0, begin;
    long r = 0, fd = open_for(l, content == VT_SAMPLES ? VT_EVENTS : (enum vt_content)content, &end);
    if (fd < 0) return fd;
    begin = end;
    uint64_t bytes = 0;
    if (content == VT_DEFINITIONS)
        for (struct vt_chunk *c = *first; c; c = vt_chunk_next(c)) bytes += c->used + sizeof(struct vt_block);
    if (bytes && l->keeps_room && (r = keep_room(fd, end, bytes)) < 0) {
        VT_SYS1(close, fd);
        return r;
    }
    struct vt_codec_context *x = vt_codec_get();
    while (!r && is_next(l, content, *first)) {
        if (*first == l->mark.chunk) void_mark(l);
        vt_keep_written(l, *first);
        r = l->is_beyond && content != VT_DEFINITIONS ? BEYOND : write_block(fd, &end, *first, x);
        if (r == BEYOND) drop(l, *first);
        else if (r < 0) break;
        release(l, content, first);
        r = is_next(l, content, *first) && vt_signal_waits(&l->signals) ? VT_SIGNAL_WAITS : 0;
    }
    vt_codec_put(x);
    if (r != -EBADF) VT_SYS1(close, fd);
    VT_SET(l->written_bytes, l->written_bytes + end - begin);
    return r;
}

static long write_list(struct vt_location *l, int content, struct vt_chunk **first, struct vt_chunk **last)
{
    long r = -EBADF;
    if (!*first && (content != VT_DEFINITIONS || l->files & 1u << content)) return 0;
    for (int i = 0; r == -EBADF && i < 3; i++) r = write_chunks(l, content, first); /* EBADF: the program closed it */
    if (!*first) *last = NULL;
    if (r >= 0) return r;
    l->unwritten |= 1u << content;
    vt_warn("%s cannot be written (%s): the thread stops recording, and its records %s; set VT_PFORM_GDIR to another "
            "directory",
            l->scratch.path, vt_reason(r),
            vt_buffer_in_file() && vt_buffer_is_there() ? "stay in the buffer" : "may be lost");
    return r;
}

/* Appends all rows of the profile to the events file. The chunks stay, since the rows may still change. */
static long write_profile(struct vt_location *l)
{
    uint64_t end = 0, begin;
    struct vt_chunk *c = l->profile ? l->profile->first : NULL;
    if (!c) return 0;
    long r = 0, fd = open_for(l, VT_EVENTS, &end);
    if (fd < 0) return fd;
    begin = end;
    struct vt_codec_context *x = vt_codec_get();
    for (; c && r >= 0; c = vt_chunk_next(c)) {
        c->used = vt_chunk_used(c);
        c->records = c->used / (uint32_t)sizeof(struct vt_profile_row);
        c->end_ticks = VT_READ(l->last);
        r = write_block(fd, &end, c, x);
    }
    vt_codec_put(x);
    VT_SYS1(close, fd);
    VT_SET(l->written_bytes, l->written_bytes + end - begin);
    if (r < 0)
        vt_warn("%s cannot be written (%s): the profile %s; set VT_PFORM_GDIR to another directory", l->scratch.path,
                vt_reason(r), vt_buffer_in_file() && vt_buffer_is_there() ? "stays in the buffer" : "may be lost");
    return r;
}

/* Writes at most `most` chunks of events; ALL: all chunks, so that the buffer is empty. */
static int flush(struct vt_location *l, int definitions, int keeps_room, uint32_t most)
{
    for (uint32_t left = most;;) {
        if (!vt_location_lock(l)) return -EDEADLK;
        l->keeps_room = keeps_room;
        l->wants_spare = most != ALL; /* otherwise other threads might take all returned chunks */
        l->to_write = left;
        if (most == ALL) VT_SET(l->round, 0);
        if (l->keep && (most == ALL || l->full == l->keep->out)) vt_thin_held(l, ALL);
        long r = l->unwritten & 1u << VT_DEFINITIONS ? -EIO : 0;
        if (definitions) vt_defs_finish(l);
        if (!r && definitions) r = write_list(l, VT_DEFINITIONS, &l->defs_full, &l->defs_last);
        if (!r) r = l->unwritten ? -EIO : write_list(l, VT_EVENTS, &l->full, &l->full_last);
        if (!r && most == ALL) r = write_list(l, VT_SAMPLES, &l->samples.full, &l->samples.full_last);
        if (!r && most == ALL && definitions) r = write_profile(l);
        left = l->to_write;
        vt_location_unlock(l);
        if (r <= 0) return (int)r;
    }
}

int vt_file_flush(struct vt_location *l) { return flush(l, 1, 1, ALL); }

int vt_file_flush_step(struct vt_location *l, uint32_t most)
{
    /* records in memory are lost if the process is killed */
    const uint32_t step = vt_process.set.slow_files || !vt_buffer_in_file() ? most : VT_STEP;
    return flush(l, 1, 1, step < most ? step : most);
}

int vt_file_flush_events(struct vt_location *l) { return flush(l, 0, 1, ALL); }

int vt_file_flush_samples(struct vt_location *l)
{
    if (!vt_location_lock(l)) return -EDEADLK;
    l->keeps_room = 0;
    l->to_write = VT_STEP;
    long r = l->unwritten ? -EIO : VT_SIGNAL_WAITS;
    while (r == VT_SIGNAL_WAITS) r = write_list(l, VT_SAMPLES, &l->samples.full, &l->samples.full_last);
    vt_location_unlock(l);
    return (int)r;
}

int vt_file_flush_last(struct vt_location *l) { return flush(l, 1, 0, ALL); }

void vt_file_start(void)
{
    uint64_t mask;
    vt_lock(&vt_process.naming, &mask);
    path_of(vt_scratch.path, vt_process.head.prefix, vt_process.name_rank, 0, VT_DEFINITIONS);
    long fd = create(&vt_scratch, 0, VT_DEFINITIONS);
    if (fd >= 0) keep_room(fd, VT_FILE_HEAD, 0);
    if (fd >= 0) VT_SYS1(close, fd);
    atomic_store(&has_started, fd >= 0);
    atomic_store(&is_stale, 0);
    vt_unlock(&vt_process.naming, &mask);
}

int vt_file_is_there(void)
{
    uint64_t mask;
    vt_lock(&vt_process.naming, &mask);
    path_of(vt_scratch.path, vt_process.head.prefix, vt_process.name_rank, 0, VT_DEFINITIONS);
    int is = !VT_SYS3(faccessat, AT_FDCWD, vt_scratch.path, 0);
    vt_unlock(&vt_process.naming, &mask);
    return is;
}

/* Writes the head of the file scratch->path again. Returns 1 on success. */
static int rewrite_head(struct vt_scratch *scratch, uint32_t number, enum vt_content content)
{
    long fd = vt_reopen(scratch->path, O_WRONLY, &scratch->made[content]);
    int fresh = fd >= 0 && write_head(fd, scratch, number, content) >= 0;
    if (fd >= 0) VT_SYS1(close, fd);
    return fresh;
}

void vt_file_tell_head(struct vt_location *l)
{
    uint64_t mask;
    if (!(l->files & 1u << VT_DEFINITIONS)) return;
    vt_lock(&vt_process.naming, &mask);
    path_of(l->scratch.path, vt_process.head.prefix, vt_process.name_rank, l->number, VT_DEFINITIONS);
    if (!rewrite_head(&l->scratch, l->number, VT_DEFINITIONS)) l->stale |= 1u << VT_DEFINITIONS;
    vt_unlock(&vt_process.naming, &mask);
}

void vt_file_rename(struct vt_location *l, const char *old_prefix, uint32_t old_rank)
{
    struct vt_scratch *scratch = l ? &l->scratch : &vt_scratch;
    uint32_t number = l ? l->number : 0;
    for (enum vt_content content = VT_EVENTS; content <= VT_DEFINITIONS; content++) {
        int started = content == VT_DEFINITIONS && !number;
        if (!started && !(l && l->files & 1u << content)) continue;
        path_of(scratch->other, old_prefix, old_rank, number, content);
        path_of(scratch->path, vt_process.head.prefix, vt_process.name_rank, number, content);
        const struct vt_identity *made = l && l->files & 1u << content ? scratch->made : vt_scratch.made;
        scratch->made[content] = made[content];
        long r = vt_replace(scratch->other, scratch->path, &scratch->made[content]);
        if (r < 0) { /* the next flush tries to create the file again */
            int told = l && l->unwritten & 1u << content;
            if (l) l->files &= ~(1u << content);
            if (r != -ENOENT && !told)
                vt_warn("%s cannot be renamed to %s (%s)", scratch->other, scratch->path, vt_reason(r));
            continue;
        }
        int fresh = rewrite_head(scratch, number, content);
        if (l && !fresh) l->stale |= 1u << content; /* for example, no descriptor was free */
        else if (!fresh) atomic_store(&is_stale, 1);
        if (l) l->files |= 1u << content;
    }
}

void vt_file_uctl(void)
{
    static char text[256];
    const struct vt_file *h = &vt_process.head;
    uint64_t mask;
    vt_lock(&vt_process.naming, &mask);
    struct vt_text t = vt_text_into(vt_scratch.path, sizeof vt_scratch.path);
    vt_text_add(&t, vt_process.set.gdir, "/", h->prefix, ".uctl");
    t = vt_text_into(text, sizeof text);
    vt_text_add(&t, "vtrace uctl 1\nrun ");
    vt_text_run(&t, h->run);
    vt_text_add(&t, "\nworld ");
    vt_text_hex(&t, h->world);
    vt_text_add(&t, "\nranks ");
    vt_text_dec(&t, h->world_size);
    vt_text_add(&t, "\ntool ", h->tool, "\n");
    long r = vt_put_file(vt_scratch.path, vt_scratch.other, text);
    if (r == -EEXIST) /* other messages report a full disk */
        vt_warn("%s cannot be written (%s): vtunify cannot detect that the run is complete", vt_scratch.path,
                vt_reason(r));
    vt_unlock(&vt_process.naming, &mask);
}
