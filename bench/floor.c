/* SPDX-License-Identifier: BSD-3-Clause */
/* The floor of a function event: hooks in a shared library that read the clock and store 8 bytes into a file mapping of
   the same kind as vtrace's buffer (grown by the same steps, 64 KiB touched at a time, used again from the start after
   44 MiB), and do nothing else.                                                                                       */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "now.h"

#define CHUNK (64u << 10)
#define FIRST (4u << 20)
#define NEXT (16u << 20)
#define ALL (44u << 20)
#define POPULATE_WRITE 23

#define FAST __attribute__((tls_model("initial-exec")))
static _Thread_local uint64_t *at FAST, *end FAST;
static _Thread_local char *chunks[ALL / CHUNK];
static _Thread_local unsigned next, mapped;
static _Thread_local int fd = -1;

static void map(uint64_t bytes)
{
    uint64_t offset = (uint64_t)mapped * CHUNK;
    char *p;
    if (fallocate(fd, 0, (off_t)offset, (off_t)bytes)) _exit(1);
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    for (uint64_t i = 0; i < bytes && mapped < ALL / CHUNK; i += CHUNK) chunks[mapped++] = p + i;
}

static __attribute__((noinline, cold)) void more(void)
{
    char name[] = "floor.XXXXXX";
    if (fd < 0) {
        fd = mkstemp(name);
        unlink(name);
        if (fd < 0) _exit(1);
    }
    if (next == mapped && mapped < ALL / CHUNK) {
        map(mapped ? NEXT : FIRST);
        madvise(chunks[next], CHUNK, POPULATE_WRITE);
    } else if (next == mapped) next = 0;
    else if (mapped < ALL / CHUNK || next * CHUNK >= FIRST + NEXT) madvise(chunks[next], CHUNK, POPULATE_WRITE);
    at = (uint64_t *)chunks[next++];
    end = at + CHUNK / 8;
}

static inline void record(uintptr_t function, uint64_t leave)
{
    if (__builtin_expect(at == end, 0)) more();
    *at++ = now() << 32 | leave | (uint32_t)function;
}

void __cyg_profile_func_enter(void *function, void *site)
{
    (void)site;
    record((uintptr_t)function, 0);
}

void __cyg_profile_func_exit(void *function, void *site)
{
    (void)site;
    record((uintptr_t)function, 0x40000000);
}
