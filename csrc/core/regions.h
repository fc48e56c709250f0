/* SPDX-License-Identifier: BSD-3-Clause */
/* Definitions of regions, attributes and texts by the calling thread. */
#ifndef VT_REGIONS_H
#define VT_REGIONS_H

#include "call.h"
#include "define.h"

#pragma GCC visibility push(hidden)

/* Defines the region of a call; returns 0 if the call is not recorded. */
uint32_t vt_call_define(struct vt_call *c);

/* Returns the id of an attribute; defines it at its first use. Returns 0 if no id is left or nothing is
   recorded. */
uint32_t vt_attribute_id(_Atomic uint32_t *id, const char *name, const char *description, enum vt_type type);
/* Defines a text; returns its id, or 0. */
uint32_t vt_define_text(const char *text);

#pragma GCC visibility pop

/* Returns the region of a call; 0: the call is not recorded. */
static inline uint32_t vt_call_region(struct vt_call *c)
{
    uint32_t region = atomic_load_explicit(&c->region, memory_order_relaxed);
    return VT_LIKELY(region) ? region : vt_call_define(c);
}

#endif
