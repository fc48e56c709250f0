/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory pages from the kernel. malloc belongs to the program: a signal handler may interrupt the program inside
   malloc. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include "system.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

void *vt_pages(size_t bytes)
{
    long p = VT_SYS6(mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p < 0 && p > -4096 ? NULL : (void *)p;
}

void *vt_pages_wiped(size_t bytes)
{
    void *p = vt_pages(bytes);
    /* in_child in process.c clears *alive if the kernel refuses this advice */
    if (p) VT_SYS3(madvise, p, bytes, MADV_WIPEONFORK);
    return p;
}

/* The kernel reads the set of signals there, and refuses the call for
   its invalid first argument (rt_sigprocmask(2)). Page 0 would mean no set. */
int vt_is_readable(uintptr_t address)
{
    return address >= VT_PAGE && VT_SYS4(rt_sigprocmask, -1, address & ~(uintptr_t)(VT_PAGE - 1), NULL, 8) != -EFAULT;
}
