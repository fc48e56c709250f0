/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock of the records, and readings of all clocks at the same moment. */
#ifndef VT_CLOCK_H
#define VT_CLOCK_H

#include <stdint.h>
#include "core.h"
#include "write.h"

#pragma GCC visibility push(hidden)

extern int vt_clock_is_counter; /* 1: the clock is a counter of the processor; 0: CLOCK_MONOTONIC_RAW */
extern uint32_t vt_clock_step; /* as in struct vt_columns */
/* Chooses the clock and measures vt_clock_step. */
enum vt_clock_kind vt_clock_choose(void);
/* The time of a POSIX clock in ns. */
uint64_t vt_clock_ns(int id);
/* Reads all clocks now. */
struct vt_clock_pair vt_clock_measure(void);
/* As vt_clock_measure, but the reading may be up to a second old. */
struct vt_clock_pair vt_clock_recent(void);

#pragma GCC visibility pop

/* The clock of the records, in ticks. */
static inline uint64_t vt_now(void)
{
    return VT_LIKELY(vt_clock_is_counter) ? vt_counter() : vt_clock_ns(4 /* CLOCK_MONOTONIC_RAW */);
}

#endif
