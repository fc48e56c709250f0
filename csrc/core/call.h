/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of libc that libvtrace.so.1 itself wraps: those that create and end threads and processes, and
   locks. */
#ifndef VT_CALL_H
#define VT_CALL_H

#include <stdatomic.h>
#include <stdint.h>
#include "write.h"

/* Exports a symbol without a version: a preloaded library then defines the symbol for all versions that programs
   use. */
#define VT_CALL_EXPORT __attribute__((visibility("default")))

/* A wrapped function. */
struct vt_call {
    const char *name;
    uint8_t paradigm, role; /* enum vt_paradigm, vt_role */
    _Atomic uint32_t region; /* 0: not called yet, or not recorded */
    void *_Atomic next; /* next definition of the function; NULL: not looked up yet */
};

#pragma GCC visibility push(hidden)

/* Looks up the next definition of a function: of libc, or of another tool between libc and vtrace. Keeps errno. Returns
   a function that fails with ENOSYS if there is no definition. */
void *vt_call_find(struct vt_call *c);

#pragma GCC visibility pop

static inline void *vt_call_next(struct vt_call *c)
{
    void *next = atomic_load_explicit(&c->next, memory_order_relaxed);
    return VT_LIKELY(next) ? next : vt_call_find(c);
}

#endif
