/* SPDX-License-Identifier: BSD-3-Clause */
/* The buffer is one file of 64-KiB chunks, mapped shared, so the records outlive the process even if it is killed. The
   buffer grows by segments. Threads take and return chunks without a lock. A chunk has one owner at any time: the
   location that fills the chunk or has the chunk in a list, otherwise this file.
   Memory order: the exchange that takes a chunk from a list sees all stores before the exchange that gave the chunk.
   `next` is loaded after the head of the list, and a tag in the head makes the exchange fail if the list has changed.
   The state of a chunk is stored with release (also in location.c and rewind.c), after its head, sequence and thread:
   vtunify finds these in each chunk that counts as filling. Addresses: 32 bits of the free list's head, divided by 64
   KiB, are 48 bits, which the kernel does not exceed without a hint to mmap; 48 bits of the list of fresh chunks are
   any address. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/magic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include "buffer.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#define FIRST_SEGMENT (4u << 20)
#define NEXT_SEGMENTS 4u /* times the first; ext4 fills 16 MiB twice as fast per page as 4 MiB */
#define ON_TMPFS 4u /* divides the sizes: tmpfs allocates all pages at once, and they count as memory of the job */
#define MAX_SEGMENTS 65536u
#define LATER_SEGMENT (4 * VT_CHUNK_SIZE) /* the first one without a file: definitions of a few KiB */
#define UNCOUNTED 2u /* chunks beyond VT_BUFFER_SIZE: definitions, and the first chunk of a small buffer */
#define PART 8u /* chunks of a segment that are cleared at once: 0.3 ms */
#define LAST_MOST (VT_CHUNK_SIZE - VT_LAST_CHUNK - VT_CHUNK_DATA - 1024) /* the rest holds the end of one location */

static char *segments[MAX_SEGMENTS];
static uint8_t in_memory[MAX_SEGMENTS]; /* 1: not in the file */
static _Atomic uint32_t segment_count;
static uint32_t first_bytes = FIRST_SEGMENT;
static struct vt_identity file;
static _Atomic int has_file; /* 1: new segments go into the file */
static _Atomic int has_memory; /* 1: some segments are not in the file */
static _Atomic int is_later; /* 1: the file is not created yet */
static struct stat root; /* root directory when the buffer was created */
static _Atomic uint64_t free_chunks; /* list of returned chunks: address / 64 KiB; upper half: a tag against ABA */
static _Atomic uint64_t fresh; /* unused chunks: address / 64 KiB of the next one; upper 16 bits: their number */
static _Atomic uint32_t growing; /* lock: threads that find no chunk wait until one of them has added a segment */
static _Atomic uint64_t taken; /* number of chunks that have an owner */
static char *part; /* the chunks of the last segment that `fresh` never had */
static uint32_t part_chunks; /* their number */

#define FRESH_SHIFT 48

static uint32_t next_bytes(void) { return vt_buffer_is_small() ? first_bytes : NEXT_SEGMENTS * first_bytes; }

static uint32_t segment_bytes(uint32_t number) { return number ? next_bytes() : first_bytes; }

static uint64_t segment_offset(uint32_t number)
{
    return number ? first_bytes + (uint64_t)(number - 1) * next_bytes() : 0;
}

/* Reserves an address range that begins at a multiple of the chunk size. */
static char *reserve(uint32_t bytes)
{
    long p = VT_SYS6(mmap, 0, bytes + VT_CHUNK_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p < 0 && p > -4096) return NULL;
    char *start = (char *)(((uintptr_t)p + VT_CHUNK_SIZE - 1) & ~(uintptr_t)(VT_CHUNK_SIZE - 1));
    char *end = (char *)p + bytes + VT_CHUNK_SIZE;
    if (start > (char *)p) VT_SYS2(munmap, p, start - (char *)p);
    if (end > start + bytes) VT_SYS2(munmap, start + bytes, end - (start + bytes));
    return start;
}

/* Clears chunks of a new segment by writing zeros. Without this write, the first store into each page makes the kernel
   read the page and query the file system; with ext4 such a store takes three times as long. One call writes one chunk,
   since ext4 examines all pages of a call at the first store into one of them. The kernel clears a page that this
   function cannot write. */
static void clear_in_file(uint64_t at, uint64_t end)
{
    static const char zeros[VT_CHUNK_SIZE];
    uint64_t mask;
    long fd = vt_reopen(vt_process.head.buffer, O_RDWR, &file);
    if (fd < 0) return;
    vt_hold_signals(&mask);
    while (at < end && vt_written(VT_SYS4(pwrite64, fd, zeros, VT_CHUNK_SIZE, at)) == VT_CHUNK_SIZE)
        at += VT_CHUNK_SIZE;
    vt_release_signals(&mask);
    VT_SYS1(close, fd);
}

static long map_from_file(char *at, uint32_t number)
{
    uint64_t mask;
    long fd = vt_reopen(vt_process.head.buffer, O_RDWR, &file);
    if (fd < 0) return fd;
    vt_hold_signals(&mask);
    long r = vt_written(VT_SYS4(fallocate, fd, 0, segment_offset(number), segment_bytes(number)));
    vt_release_signals(&mask);
    if (r >= 0)
        r = VT_SYS6(mmap, at, segment_bytes(number), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                    segment_offset(number));
    if (r < 0 && r > -4096) /* ext4 keeps blocks that it allocated before the disk was full */
        VT_SYS4(fallocate, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, segment_offset(number),
                segment_bytes(number));
    VT_SYS1(close, fd);
    return r < 0 && r > -4096 ? r : 0;
}

/* Adds a chunk to the list of free ones. */
static void put_back(struct vt_chunk *c)
{
    uint64_t head = atomic_load(&free_chunks), mine;
    do {
        VT_SET(c->next, (uint32_t)head);
        mine = (head & ~(uint64_t)UINT32_MAX) | (uint32_t)((uintptr_t)c / VT_CHUNK_SIZE);
    } while (!atomic_compare_exchange_weak(&free_chunks, &head, mine));
}

/* Tells vtunify that chunks will be missing if the process is killed. */
static void tell_memory(void)
{
    if (vt_process.mapped && atomic_load(&has_memory))
        __atomic_fetch_or(&vt_process.mapped->forked, VT_IN_MEMORY, __ATOMIC_RELAXED);
}

/* Gives the next part of the last segment to the threads. To clear a whole segment would take 10 ms. Returns 0 if there
   is none. */
static int give_part(void)
{
    const uint32_t last = atomic_load(&segment_count) - 1, n = part_chunks < PART ? part_chunks : PART;
    char *at = part;
    if (!n) return 0;
    part += n * VT_CHUNK_SIZE;
    part_chunks -= n;
    const int clears = !vt_buffer_is_small() && first_bytes == FIRST_SEGMENT;
    if (last && clears && !VT_READ(in_memory[last])) { /* most programs need only the first */
        const uint64_t offset = segment_offset(last) + (uint64_t)(at - segments[last]);
        clear_in_file(offset, offset + n * VT_CHUNK_SIZE);
    }
    atomic_store(&fresh, (uintptr_t)at / VT_CHUNK_SIZE | (uint64_t)n << FRESH_SHIFT);
    return 1;
}

/* Adds a segment to the buffer. Returns 0 if there is no memory. */
static int grow(void)
{
    uint32_t number = atomic_fetch_add(&segment_count, 1);
    if (number >= MAX_SEGMENTS) {
        atomic_fetch_sub(&segment_count, 1);
        return 0;
    }
    uint32_t bytes = segment_bytes(number);
    char *at = reserve(bytes);
    if (!at) return 0;
    long r = atomic_load(&has_file) ? map_from_file(at, number) : -ENOSPC;
    if (r < 0 && atomic_load(&has_file))
        vt_warn(
            "the buffer %s cannot grow (%s): vtrace records into memory, and these records are lost if the program is "
            "killed; set VT_PFORM_LDIR to another directory",
            vt_process.head.buffer, vt_reason(r));
    if (r < 0) {
        r = VT_SYS6(mmap, at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (r < 0 && r > -4096) return 0;
        atomic_store(&has_memory, 1);
        tell_memory();
        VT_SET(in_memory[number], 1);
    }
    /* The kernel would read ahead, which means clearing many pages of a file that has never been written. */
    VT_SYS3(madvise, at, bytes, MADV_RANDOM);
    VT_SET(segments[number], at);
    const uint32_t skip = number == 0; /* chunk 0 is the head of the file */
    part = at + skip * VT_CHUNK_SIZE;
    part_chunks = bytes / VT_CHUNK_SIZE - skip;
    return give_part();
}

static struct vt_chunk *take_free(void)
{
    uint64_t head = atomic_load(&free_chunks);
    while (head & UINT32_MAX) {
        struct vt_chunk *c = (struct vt_chunk *)((head & UINT32_MAX) * VT_CHUNK_SIZE);
        uint64_t next = ((head >> 32) + 1) << 32 | VT_READ(c->next);
        if (atomic_compare_exchange_weak(&free_chunks, &head, next)) return c;
    }
    return NULL;
}

static struct vt_chunk *take_fresh(void)
{
    uint64_t old = atomic_load(&fresh);
    while (old >> FRESH_SHIFT) {
        uint64_t number = old & ((1ull << FRESH_SHIFT) - 1);
        uint64_t next = (number + 1) | ((old >> FRESH_SHIFT) - 1) << FRESH_SHIFT;
        if (!atomic_compare_exchange_weak(&fresh, &old, next)) continue;
        struct vt_chunk *c = (struct vt_chunk *)(number * VT_CHUNK_SIZE);
        /* 1 call for 16 page faults; old kernels lack it. A profile uses few pages of most chunks. */
        if (atomic_load(&has_file) && !vt_buffer_is_small()) VT_SYS3(madvise, c, VT_CHUNK_SIZE, MADV_POPULATE_WRITE);
        return c;
    }
    return NULL;
}

static struct vt_chunk *take_chunk(void)
{
    struct vt_chunk *c = take_free();
    return c ? c : take_fresh();
}

static struct vt_chunk *take_or_grow(void)
{
    struct vt_chunk *c;
    uint64_t mask;
    vt_lock(&growing, &mask);
    do c = take_chunk();
    while (!c && (give_part() || grow()));
    vt_unlock(&growing, &mask);
    return c;
}

struct vt_chunk *vt_chunk_take(void)
{
    struct vt_chunk *c = take_chunk();
    if (!c) c = take_or_grow();
    if (c) atomic_fetch_add(&taken, 1);
    return c;
}

int vt_buffer_has_room(void)
{
    const struct vt_settings *set = &vt_process.set;
    if (set->thread_buffer_size || set->mode == VT_MODE_RING || *set->trigger) return 1;
    return atomic_load_explicit(&taken, memory_order_relaxed) * VT_CHUNK_SIZE <
           set->buffer_size + UNCOUNTED * VT_CHUNK_SIZE;
}

void vt_chunk_give(struct vt_chunk *c)
{
    __atomic_store_n(&c->state, VT_CHUNK_FREE, __ATOMIC_RELEASE);
    atomic_fetch_sub(&taken, 1);
    /* At the end of the program a thread may still be storing a last record into the chunk, so the chunk must
       not be reused. */
    if (atomic_load_explicit(&vt_process.state, memory_order_relaxed) != VT_ENDED) put_back(c);
}

void vt_chunk_keep(struct vt_chunk *c) { __atomic_store_n(&c->state, VT_CHUNK_FREE, __ATOMIC_RELEASE); }

void vt_chunk_append(struct vt_chunk **first, struct vt_chunk **last, struct vt_chunk *c)
{
    VT_SET(c->next, 0);
    __atomic_store_n(&c->state, VT_CHUNK_FULL, __ATOMIC_RELEASE);
    if (*last) VT_SET((*last)->next, (uint32_t)((uintptr_t)c / VT_CHUNK_SIZE));
    else *first = c;
    *last = c;
}

static long create_file(void)
{
    struct vt_file *h = &vt_process.head;
    struct vt_text t = vt_text_into(h->buffer, sizeof h->buffer);
    vt_text_add(&t, vt_process.set.ldir, "/", h->prefix, ".");
    vt_place_add_process(&t);
    vt_text_add(&t, ".buffer");
    long fd = vt_create(h->buffer, 0600, &file);
    if (fd < 0) return fd;
    VT_SYS4(newfstatat, AT_FDCWD, "/", &root, 0);
    struct statfs fs;
    if (!VT_SYS2(fstatfs, fd, &fs) && fs.f_type == TMPFS_MAGIC) first_bytes = FIRST_SEGMENT / ON_TMPFS;
    VT_SYS1(close, fd);
    return 0;
}

int vt_buffer_in_file(void) { return atomic_load(&has_file) && !atomic_load(&has_memory); }

int vt_buffer_is_there(void)
{
    struct stat s;
    if (!atomic_load(&has_file)) return 0;
    long r = VT_SYS4(newfstatat, AT_FDCWD, vt_process.head.buffer, &s, 0);
    if (r >= 0 || (r != -ENOENT && r != -ENOTDIR)) return 1;
    return VT_SYS4(newfstatat, AT_FDCWD, "/", &s, 0) >= 0 && (s.st_ino != root.st_ino || s.st_dev != root.st_dev);
}

struct vt_chunk *vt_buffer_last_chunk(uint32_t *sequence, uint32_t thread)
{
    char *head = (char *)vt_process.mapped;
    if (!head) return NULL;
    struct vt_chunk *c = (struct vt_chunk *)(head + VT_LAST_CHUNK);
    if (c->state != VT_CHUNK_FREE) return vt_chunk_used(c) < LAST_MOST ? c : NULL;
    c->content = VT_DEFINITIONS;
    VT_SET(c->head, VT_CHUNK_DATA);
    c->sequence = (*sequence)++;
    c->thread = thread;
    __atomic_store_n(&c->state, VT_CHUNK_FILLING, __ATOMIC_RELEASE);
    return c;
}

int vt_chunk_in_memory(const struct vt_chunk *c)
{
    if (!vt_buffer_is_there()) return 1;
    for (uint32_t i = 0; i < atomic_load(&segment_count) && i < MAX_SEGMENTS; i++) {
        uintptr_t at = (uintptr_t)VT_READ(segments[i]);
        if (at && (uintptr_t)c - at < segment_bytes(i)) return VT_READ(in_memory[i]);
    }
    return 1;
}

void vt_buffer_close(int keep)
{
    if (atomic_load(&has_file) && !keep) VT_SYS3(unlinkat, AT_FDCWD, vt_process.head.buffer, 0);
}

static void forget_segments(void)
{
    for (uint32_t i = 0; i < atomic_load(&segment_count) && i < MAX_SEGMENTS; i++) {
        segments[i] = NULL;
        in_memory[i] = 0;
    }
    atomic_store(&segment_count, 0);
    atomic_store(&free_chunks, 0);
    atomic_store(&fresh, 0);
    part_chunks = 0;
    atomic_store(&taken, 0);
    atomic_store(&is_later, 0);
    first_bytes = FIRST_SEGMENT;
    vt_process.mapped = NULL;
}

/* Maps anonymous memory in place of the parent's chunks. If a signal handler has forked, the child continues the
   interrupted call of the parent, which then stores its record into one of these chunks. */
void vt_buffer_forget(void)
{
    for (uint32_t i = 0; i < atomic_load(&segment_count) && i < MAX_SEGMENTS; i++)
        if (segments[i])
            VT_SYS6(mmap, segments[i], segment_bytes(i), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    forget_segments();
}

/* The order of the stores matters, since the process may be killed between any two of them. The file then has no magic,
   or has the content VT_BUFFER. */
void vt_buffer_tell(void)
{
    const size_t version = offsetof(struct vt_file, version), content = offsetof(struct vt_file, content);
    const char *from = (const char *)&vt_process.head;
    char *to = (char *)vt_process.mapped;
    if (!to) return;
    vt_process.mapped->content = VT_BUFFER;
    memcpy(to + version, from + version, content - version);
    memcpy(to + content + 1, from + content + 1, sizeof(struct vt_file) - content - 1);
    tell_memory();
    vt_process.mapped->checksum = 0;
    atomic_signal_fence(memory_order_seq_cst);
    memcpy(to, from, version); /* magic */
}

int vt_buffer_open_later(void)
{
    vt_buffer_forget();
    atomic_store(&has_file, 0);
    atomic_store(&has_memory, 0);
    vt_process.head.buffer[0] = 0;
    vt_process.head.forked |= VT_UNBUFFERED;
    first_bytes = LATER_SEGMENT;
    if (!grow()) return 0;
    atomic_store(&is_later, 1);
    return 1;
}

int vt_buffer_is_later(void) { return atomic_load(&is_later); }

int vt_buffer_create(void)
{
    forget_segments();
    vt_process.head.forked &= ~VT_UNBUFFERED;
    long r = create_file();
    atomic_store(&has_file, r >= 0);
    atomic_store(&has_memory, 0);
    if (r < 0)
        vt_warn("the buffer %s cannot be created (%s): vtrace records into memory, and these records are lost if the "
                "program is killed; set VT_PFORM_LDIR to another directory",
                vt_process.head.buffer, vt_reason(r));
    if (!grow()) {
        vt_buffer_close(0);
        return 0;
    }
    if (vt_buffer_in_file()) {
        vt_process.mapped = (struct vt_file *)segments[0];
        vt_buffer_tell();
    } else {
        vt_buffer_close(0);
        atomic_store(&has_file, 0);
        vt_process.head.buffer[0] = 0;
    }
    return 1;
}

int vt_buffer_open(void)
{
    vt_buffer_forget();
    return vt_buffer_create();
}

struct vt_chunk *vt_chunk_next(struct vt_chunk *c)
{
    return (struct vt_chunk *)((uintptr_t)VT_READ(c->next) * VT_CHUNK_SIZE);
}

struct vt_chunk *vt_chunk_drop(struct vt_chunk **first, struct vt_chunk **last, uint64_t *dropped)
{
    struct vt_chunk *c = *first;
    if (!c) return NULL;
    *first = vt_chunk_next(c);
    if (!*first) *last = NULL;
    uint64_t *behind = *first ? &(*first)->dropped : dropped;
    VT_SET(*behind, *behind + c->dropped + c->records);
    return c;
}
