/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of libc that this library itself stands before: those that begin and end threads and processes, and locks. */
#ifndef VT_CALL_H
#define VT_CALL_H

#include <stdatomic.h>
#include <stdint.h>
#include "write.h"

/* Exported without a version, so that what a preloaded library defines serves every version that programs ask for. */
#define VT_CALL_EXPORT __attribute__((visibility("default")))

struct vt_call {
    const char *name;
    uint8_t paradigm, role; /* enum vt_paradigm, vt_role */
    _Atomic uint32_t region; /* 0: not called yet, or not recorded */
    void *_Atomic next;
};

#pragma GCC visibility push(hidden)

/* The definition of libc, or of another tool between it and us. */
void *vt_call_find(struct vt_call *c);

#pragma GCC visibility pop

static inline void *vt_call_next(struct vt_call *c)
{
    void *next = atomic_load_explicit(&c->next, memory_order_relaxed);
    return VT_LIKELY(next) ? next : vt_call_find(c);
}

#endif
