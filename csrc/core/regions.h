/* SPDX-License-Identifier: BSD-3-Clause */
/* Definitions by the thread that calls. */
#ifndef VT_REGIONS_H
#define VT_REGIONS_H

#include "call.h"
#include "define.h"

#pragma GCC visibility push(hidden)

/* Defines the region; 0 where the call is not to be recorded. */
uint32_t vt_call_define(struct vt_call *c);

/* Ids of attributes, made at the first use: number (INT64) and text (STRING); 0: no more, or nothing is recorded. */
uint32_t vt_attribute_id(_Atomic uint32_t *id, const char *name, const char *description, uint8_t type);
uint32_t vt_define_text(const char *text);

#pragma GCC visibility pop

static inline uint32_t vt_call_region(struct vt_call *c)
{
    uint32_t region = atomic_load_explicit(&c->region, memory_order_relaxed);
    return VT_LIKELY(region) ? region : vt_call_define(c);
}

#endif
