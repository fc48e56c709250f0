/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory into which the floors store: for each thread a file mapping of the same kind as vtrace's buffer. The
   mapping grows by the same steps, is cleared in the same way, 64 KiB at a time, and is reused from the start after ALL
   bytes. */
#ifndef BENCH_MAPPING_H
#define BENCH_MAPPING_H

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef ALL
#define ALL (44u << 20)
#endif
#define CHUNK (64u << 10)
#define FIRST (4u << 20)
#define NEXT (16u << 20)
#define POPULATE_WRITE 23

#define FAST __attribute__((tls_model("initial-exec")))
static _Thread_local uint64_t *at FAST, *end FAST;
static _Thread_local char *chunks[ALL / CHUNK] FAST;
static _Thread_local unsigned next_chunk FAST, mapped FAST, touched FAST;
static _Thread_local int fd FAST;

static void map(uint64_t bytes)
{
    uint64_t offset = (uint64_t)mapped * CHUNK;
    char *p;
    static const char zeros[CHUNK];
    if (fallocate(fd, 0, (off_t)offset, (off_t)bytes)) _exit(1);
    for (uint64_t i = 0; offset && i < bytes; i += CHUNK)
        if (pwrite(fd, zeros, CHUNK, (off_t)(offset + i)) != CHUNK) _exit(1);
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    if (p == MAP_FAILED) _exit(1);
    for (uint64_t i = 0; i < bytes && mapped < ALL / CHUNK; i += CHUNK) chunks[mapped++] = p + i;
}

static __attribute__((noinline, cold)) void more(void)
{
    char name[] = "floor.XXXXXX";
    if (!mapped) {
        fd = mkstemp(name);
        unlink(name);
        if (fd < 0) _exit(1);
    }
    if (next_chunk == mapped && mapped < ALL / CHUNK) map(mapped ? NEXT : FIRST);
    if (next_chunk == mapped) next_chunk = 0;
    if (next_chunk == touched) madvise(chunks[touched++], CHUNK, POPULATE_WRITE);
    at = (uint64_t *)chunks[next_chunk++];
    end = at + CHUNK / 8;
}

/* Returns the address for a record of this number of words. */
static inline uint64_t *record(unsigned words)
{
    if (__builtin_expect(at + words > end, 0)) more();
    uint64_t *here = at;
    at += words;
    return here;
}

/* Stores a record of this number of words, one by one. */
static inline void store(uint64_t time, unsigned words)
{
    volatile uint64_t *here = record(words);
    for (unsigned i = 0; i < words; i++) here[i] = time;
}

#endif
