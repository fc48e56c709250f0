/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of threads that are created one by one, and of locks. */
#include "pass.h"

#define OF_thread(name, number) ~, OF_##name = number,
enum thread_kind { VT_KINDS(VT_HANDLED) };

int vt_thread_lock(struct pass *p, uint64_t t, uint32_t what, uint64_t w)
{
    uint32_t paradigm = VT_ID(what), id = (uint32_t)w, order = (uint32_t)(w >> 32);
    if (paradigm > VT_OTF2_PARADIGM_NONE)
        return vt_fail(p->error, VT_BAD_DATA, "unknown paradigm of a lock %u", paradigm);
    if (VT_KIND(what) == VT_K_ACQUIRE_LOCK) return WRITE(p, ThreadAcquireLock, t, (uint8_t)paradigm, id, order);
    return WRITE(p, ThreadReleaseLock, t, (uint8_t)paradigm, id, order);
}

int vt_thread(struct pass *p, uint64_t t, uint32_t what, const uint64_t *w)
{
    const uint32_t comm = p->maps->thread_comm;
    if (comm == VT_UNMAPPED) {
        p->result->unmapped++;
        return VT_OK;
    }
    switch ((enum thread_kind)VT_KIND(what)) {
    case VT_K_THREAD_CREATE: return WRITE(p, ThreadCreate, t, comm, w[0]);
    case VT_K_THREAD_BEGIN: return WRITE(p, ThreadBegin, t, comm, w[0]);
    case VT_K_THREAD_END: return WRITE(p, ThreadEnd, t, comm, w[0]);
    case VT_K_THREAD_WAIT: return WRITE(p, ThreadWait, t, comm, w[0]);
    }
    __builtin_unreachable();
}
