/* SPDX-License-Identifier: BSD-3-Clause */
/* Which clock stamps the records, and moments measured on all clocks at once. */
#ifndef VT_CLOCK_H
#define VT_CLOCK_H

#include <stdint.h>
#include "core.h"
#include "write.h"

#pragma GCC visibility push(hidden)

extern int vt_clock_is_counter;
extern uint32_t vt_clock_step; /* as in struct vt_columns */
enum vt_clock_kind vt_clock_choose(void);
uint64_t vt_clock_ns(int id);
struct vt_clock_pair vt_clock_measure(void);
struct vt_clock_pair vt_clock_recent(void); /* at most a second old */

#pragma GCC visibility pop

static inline uint64_t vt_now(void)
{
    return VT_LIKELY(vt_clock_is_counter) ? vt_counter() : vt_clock_ns(4 /* CLOCK_MONOTONIC_RAW */);
}

#endif
