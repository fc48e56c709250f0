/* SPDX-License-Identifier: BSD-3-Clause */
/* A kernel with larger pages than this machine's, for the runtime compiled with -include of this file: the system calls
   for memory refuse addresses inside a page, take whole pages, and getauxval returns the size. TEST_PAGE=BYTES. */
#ifndef VT_TEST_LARGE_PAGES_H
#define VT_TEST_LARGE_PAGES_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define vt_sys kernel_call
#include "core/sys.h"
#undef vt_sys
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>

static inline long pages_size(void)
{
    const char *text = getenv("TEST_PAGE");
    return text ? atol(text) : 4096;
}

static inline long pages_whole(long bytes) { return (bytes + pages_size() - 1) & -pages_size(); }
static inline int pages_inside(long address) { return (address & (pages_size() - 1)) != 0; }
static inline int pages_failed(long result) { return result < 0 && result > -4096; }

/* Maps at an address that the kernel chooses. */
static inline long pages_map(long bytes, long protection, long flags, long fd, long offset)
{
    long size = pages_size(), p = kernel_call(SYS_mmap, 0, bytes + size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages_failed(p)) return p;
    long start = (p + size - 1) & -size, end = p + bytes + size;
    if (start > p) kernel_call(SYS_munmap, p, start - p, 0, 0, 0, 0);
    if (end > start + bytes) kernel_call(SYS_munmap, start + bytes, end - start - bytes, 0, 0, 0, 0);
    long r = kernel_call(SYS_mmap, start, bytes, protection, flags | MAP_FIXED, fd, offset);
    if (pages_failed(r)) kernel_call(SYS_munmap, start, bytes, 0, 0, 0, 0);
    return r;
}

static inline long pages_move(long old, long bytes, long more)
{
    long r = pages_map(more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages_failed(r) ? r : kernel_call(SYS_mremap, old, bytes, more, MREMAP_MAYMOVE | MREMAP_FIXED, r, 0);
}

static inline long vt_sys(long number, long a, long b, long c, long d, long e, long f)
{
    switch (number) {
    case SYS_mmap:
        if (f & (pages_size() - 1)) return -EINVAL;
        if (!(d & (MAP_FIXED | MAP_FIXED_NOREPLACE))) return pages_map(pages_whole(b), c, d, e, f);
        if (pages_inside(a)) return -EINVAL;
        b = pages_whole(b);
        break;
    case SYS_munmap:
    case SYS_mprotect:
    case SYS_madvise:
        if (pages_inside(a)) return -EINVAL;
        b = pages_whole(b);
        break;
    case SYS_mremap:
        if (pages_inside(a)) return -EINVAL;
        b = pages_whole(b);
        c = pages_whole(c);
        if (c > b) return pages_move(a, b, c);
        break;
    default: break;
    }
    return kernel_call(number, a, b, c, d, e, f);
}

#define getauxval(what) ((what) == AT_PAGESZ ? (unsigned long)pages_size() : getauxval(what))

#endif
