/* SPDX-License-Identifier: BSD-3-Clause */
/* A spin lock between the threads of a process. The holder blocks signals.
   The exchange that takes the lock and the exchange that releases it are sequentially consistent. */
#ifndef VT_LOCK_H
#define VT_LOCK_H

#include <stdatomic.h>
#include "state.h"
#include "sys.h"

#define VT_LOCK_AWAITED 0x80000000u /* a thread sleeps until the lock is free; pids are smaller */

/* Returns 1 if this process got the lock. The value is the pid of the holder, or 0. The pid of another process is a
   copy of the parent's lock after a fork, so the lock is free. */
static inline int vt_try_lock(_Atomic uint32_t *lock)
{
    uint32_t held = atomic_load(lock), me = vt_process.pid;
    return (held & ~VT_LOCK_AWAITED) != me && atomic_compare_exchange_strong(lock, &held, me);
}

/* *signals: the signal mask before. */
static inline void vt_lock(_Atomic uint32_t *lock, uint64_t *signals)
{
    vt_hold_signals(signals);
    for (int i = 0; !vt_try_lock(lock); i++) {
        if (i < 100) {
            VT_SYS0(sched_yield);
            continue;
        }
        uint32_t held = vt_process.pid;
        atomic_compare_exchange_strong(lock, &held, held | VT_LOCK_AWAITED);
        vt_pause(); /* the holder may have a lower priority than this thread */
    }
}

static inline void vt_unlock(_Atomic uint32_t *lock, const uint64_t *signals)
{
    const int awaited = (atomic_exchange(lock, 0) & VT_LOCK_AWAITED) != 0;
    vt_release_signals(signals);
    if (awaited) vt_pause(); /* else a thread that takes the lock again and again would keep out a sleeping one */
}

#endif
