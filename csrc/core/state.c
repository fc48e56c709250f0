/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the process, its memory, and the functions that it wraps. A forked child differs from its parent by the
   content of *vt_process.alive. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "system.h"

struct vt_process vt_process;
struct vt_scratch vt_scratch;

int vt_is_other_process(void)
{
    uint64_t owner = vt_process.alive ? VT_READ(*vt_process.alive) : 0;
    return owner && owner != (uint64_t)VT_SYS0(getpid);
}

_Thread_local int vt_suppressed __attribute__((tls_model("initial-exec")));

int vt_has_ended(void) { return atomic_load(&vt_process.state) >= VT_ENDED; }

int vt_is_recording(void)
{
    return vt_process.alive && atomic_load(&vt_process.state) == VT_ON &&
           VT_READ(*vt_process.alive) == (uint64_t)VT_SYS0(getpid);
}

/* ---- Memory pages from the kernel ---- */

/* malloc belongs to the program: a signal handler may interrupt the program inside malloc. */

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

void *vt_pages(size_t bytes)
{
    long p = VT_SYS6(mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p < 0 && p > -4096 ? NULL : (void *)p;
}

void *vt_pages_once(void **where, size_t bytes)
{
    void *none = NULL, *p = __atomic_load_n(where, __ATOMIC_ACQUIRE);
    if (p || !(p = vt_pages(bytes))) return p;
    if (__atomic_compare_exchange_n(where, &none, p, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return p;
    VT_SYS2(munmap, p, bytes);
    return none;
}

void *vt_pages_wiped(size_t bytes)
{
    void *p = vt_pages(bytes);
    /* in_child in process.c clears *alive if the kernel refuses this advice */
    if (p) VT_SYS3(madvise, p, bytes, MADV_WIPEONFORK);
    return p;
}

/* The kernel reads the set of signals there, and refuses the call for its invalid first argument (rt_sigprocmask(2)).
   Page 0 would mean no set. */
int vt_is_readable(uintptr_t address)
{
    return address >= VT_PAGE && VT_SYS4(rt_sigprocmask, -1, address & ~(uintptr_t)(VT_PAGE - 1), NULL, 8) != -EFAULT;
}

/* ---- Wrapped functions of libc ---- */

/* Replaces a function that this libc lacks. */
static long missing(void)
{
    errno = ENOSYS;
    return -1;
}

/* If a function has several versions, dlsym returns the newest. */
void *vt_call_find(struct vt_call *c)
{
    void *next = VT_OWN_WORK(dlsym(RTLD_NEXT, c->name));
    if (!next) *(long (**)(void))&next = missing;
    atomic_store(&c->next, next);
    return next;
}
