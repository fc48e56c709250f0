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
#define VT_CLOCK_READINGS 128
/* The step by which a counter advances, from VT_CLOCK_READINGS readings; 0: it advances by single ticks, or irregularly.
   Many counters advance by more than one tick at a time: AMD's time stamp counter advances by the ticks of a 100 MHz
   cycle. Times take fewer bytes as multiples of the step. Two readings may be several steps apart, plus or minus one
   tick. */
uint32_t vt_clock_step_of(const uint64_t *at);
/* Chooses the clock and measures vt_clock_step. */
enum vt_clock_kind vt_clock_choose(void);
/* The time of a POSIX clock in ns, from the kernel: no library that is preloaded can change it. CLOCK_MONOTONIC_RAW is
   that of the host, also in a time namespace. */
uint64_t vt_clock_ns(int id);
/* Nanoseconds by which this process's time namespace shifts CLOCK_MONOTONIC_RAW. vt_clock_choose reads it. */
extern int64_t vt_clock_shift;
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
