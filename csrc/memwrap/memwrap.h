/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the files of the memory shim. */
#ifndef VT_MEMWRAP_H
#define VT_MEMWRAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define VT_TLS _Thread_local __attribute__((tls_model("initial-exec")))

/* ---- sums.c ---- */

/* Memory that each thread has allocated less what it has freed. One shared counter would cost more than all other work
   of the shim. Records hold the sums of one thread; vtunify joins them by time into the sums of the process. */
/* The memory of the sums outlives the thread: a forked child reads the sums of all threads of its parent. */
struct vt_sums {
    int64_t bytes, blocks; /* bytes: by malloc_usable_size */
    int64_t recorded_bytes, recorded_blocks; /* values in the thread's last record; VT_NEVER: no record */
    _Atomic(uint32_t) thread; /* thread id (gettid); 0: free */
    _Atomic(uint32_t) ended; /* destructors of the thread run: each change is recorded at once */
    int64_t until_site; /* bytes until the next allocation whose callers are recorded */
    uint64_t site_due, site_least; /* not before this time; the shortest search for callers; in ticks */
    uint64_t random; /* state of the random numbers */
} __attribute__((aligned(128))); /* processors fetch 64-byte lines in pairs, which two threads must not share */

#define VT_NEVER (INT64_MIN / 2)

extern VT_TLS struct vt_sums *vt_sums_of_thread;
/* Gives the calling thread its sums, at its first call. Never NULL. */
struct vt_sums *vt_sums_take(void);

/* Sums of the calling thread. */
static inline struct vt_sums *vt_sums_own(void)
{
    struct vt_sums *s = vt_sums_of_thread;
    return __builtin_expect(s != 0, 1) ? s : vt_sums_take();
}

/* In a forked child: its one thread takes over the sums of all threads of the parent. */
void vt_sums_inherit(void);

/* At the end of the process: adds to the sums of the calling thread the changes that other threads have not
   recorded. */
void vt_sums_collect(void);

/* ---- libraries.c: VT_MEMTRACE_LIBRARIES ---- */

/* Called once, when the shim is attached. on: the value of the setting. */
void vt_libraries_begin(int on);
/* Writes the attribute of a recorded call, before its ENTER. caller: the return address of the call. */
void vt_library_of_next(const void *caller);

/* ---- sites.c: VT_MEMTRACE_CALLSITES ---- */

extern uint64_t vt_site_bytes; /* mean bytes between two allocations whose callers are recorded; 0: none */
/* Called once, when the shim is attached. */
void vt_sites_begin(void);
/* Writes the attribute with the callers of an allocation of n bytes, before its ENTER, unless this costs too much. s:
   sums of the calling thread, whose until_site is used up. */
void vt_site_of_next(struct vt_sums *s, int64_t n, const void *caller);

#endif
