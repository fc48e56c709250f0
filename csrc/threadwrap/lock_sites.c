/* SPDX-License-Identifier: BSD-3-Clause */
/* The places that call functions of locks, for threads that wait: std::mutex, std::condition_variable and the like call
   these functions themselves, so a place is a stack. */
#include "lock_sites.h"
#include "../core/process.h"

#define DEPTH 8u /* calls of a site */

uint32_t vt_lock_site(uintptr_t caller)
{
    const uint32_t site = vt_python_site(caller);
    return site ? site : vt_call_site(caller, DEPTH);
}

uint32_t vt_lock_site_of(uintptr_t caller) { return vt_call_site(caller, 1); }

const struct vt_lock_attributes *vt_lock_attributes(void)
{
    static struct vt_lock_attributes all;
    static _Atomic uint32_t state; /* 1: a thread is defining them, 2: defined */
    uint32_t none = 0;
    if (atomic_load(&state) == 2) return &all;
    if (!atomic_compare_exchange_strong(&state, &none, 1)) return NULL;
    all.site = vt_define_attribute("lock call site", "the call of the lock and its callers, each as function@file:line",
                                   VT_TYPE_STRING);
    all.holder = vt_define_attribute("holder call site", "the call by which another thread held the lock before",
                                     VT_TYPE_STRING);
    all.read = vt_define_attribute(
        "read lock", "number of the read-write lock that a reader releases while a writer waits", VT_TYPE_UINT64);
    all.calls =
        vt_define_attribute("read lock calls", "calls for reading since the one that got the lock", VT_TYPE_UINT64);
    all.name = vt_define_attribute("lock", "the variable that is the lock, as name@file:line", VT_TYPE_STRING);
    all.condition = vt_define_attribute("condition", "number of the condition variable or semaphore", VT_TYPE_UINT64);
    atomic_store(&state, 2);
    return &all;
}
