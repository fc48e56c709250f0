/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of libc that this library itself stands before: those that begin and end threads and processes, and locks. */
#ifndef VT_CALL_H
#define VT_CALL_H

#include "record.h"

/* Exported without a version, so that what a preloaded library defines serves every version that programs ask for. */
#define VT_CALL_EXPORT __attribute__((visibility("default")))

struct vt_call {
    const char *name;
    uint8_t paradigm, role; /* enum vt_paradigm, vt_role */
    _Atomic uint32_t region; /* 0: not called yet, or not recorded */
    void *_Atomic next;
};

#pragma GCC visibility push(hidden)

/* Defines the region; 0 where the call is not to be recorded. */
uint32_t vt_call_define(struct vt_call *c);

/* The definition of libc, or of another tool between it and us. */
void *vt_call_find(struct vt_call *c);

/* Ids of attributes, made at the first use: number (INT64) and text (STRING); 0: no more, or nothing is recorded. */
uint32_t vt_attribute_id(_Atomic uint32_t *id, const char *name, const char *description, uint8_t type);
uint32_t vt_define_text(const char *text);

#pragma GCC visibility pop

static inline void *vt_call_next(struct vt_call *c)
{
    void *next = atomic_load_explicit(&c->next, memory_order_relaxed);
    return VT_LIKELY(next) ? next : vt_call_find(c);
}

static inline uint32_t vt_call_region(struct vt_call *c)
{
    uint32_t region = atomic_load_explicit(&c->region, memory_order_relaxed);
    return VT_LIKELY(region) ? region : vt_call_define(c);
}

#endif
