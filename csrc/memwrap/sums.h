/* SPDX-License-Identifier: BSD-3-Clause */
/* What each thread has allocated less what it has freed: a shared counter would cost more than all else. Records hold a
   thread's sums; vtunify joins them by time into those of the process. */
#ifndef VT_SUMS_H
#define VT_SUMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define VT_TLS _Thread_local __attribute__((tls_model("initial-exec")))

/* Lies in memory that outlives the thread: a forked child reads those of all its parent's threads. */
struct vt_sums {
    int64_t bytes, blocks; /* bytes: as malloc_usable_size tells them */
    int64_t told_bytes, told_blocks; /* in the thread's last record, VT_NEVER told */
    _Atomic(uint32_t) thread; /* kernel's id, 0: free */
    _Atomic(uint32_t) ended; /* the thread is past its end's first half: each change is told at once */
} __attribute__((aligned(128))); /* processors fetch lines of 64 bytes in pairs: two threads' must not be one */

#define VT_NEVER (INT64_MIN / 2)

extern VT_TLS struct vt_sums *vt_sums_mine;
struct vt_sums *vt_sums_take(void);

/* The calling thread's. */
static inline struct vt_sums *vt_sums_here(void)
{
    struct vt_sums *s = vt_sums_mine;
    return __builtin_expect(s != 0, 1) ? s : vt_sums_take();
}

/* In a forked child: its one thread goes on with what all threads of the parent had in use. */
void vt_sums_inherit(void);

/* At the end of the process: adds to the calling thread's sums what other threads have not told. */
void vt_sums_collect(void);

#endif
