/* SPDX-License-Identifier: BSD-3-Clause */
/* Records user functions: the hooks of -finstrument-functions of gcc and clang (GCC manual, "Program Instrumentation
   Options"). This code runs more often than all other code of vtrace. Its fast path consists of a clock reading, a
   store, and the stores that keep the records readable after a crash. */
#include "funwrap.h"

/* Returns 1 if the function event is only counted. Returns 0 for a function outside all modules: its event needs the
   address of the function instead of an offset. */
static int leaves_out(struct vt_location *l, uintptr_t function, uint32_t leave)
{
    uint32_t offset = l->stopped ? 0 : vt_code_offset(l, function);
    return offset != VT_CODE_UNKNOWN && vt_leaves_out(l, VT_FUNCTION | leave | offset);
}

static __attribute__((noinline, cold)) void record_slow(uintptr_t function, uint32_t leave)
{
    struct vt_location *l = vt_location_to_record(1);
    uint64_t words[2] = {VT_FUNCTION | leave, function};
    if (!l) return;
    vt_busy_begin(l);
    if ((l->stopped || l->size) && leaves_out(l, function, leave)) {
        vt_busy_end(l);
        return;
    }
    uint64_t now = vt_now();
    uint32_t offset = l->stopped ? 0 : vt_code_offset(l, function); /* after a stop events are only counted */
    if (offset == VT_CODE_UNKNOWN) words[0] = VT_HEAD(leave ? VT_K_LEAVE_ADDRESS : VT_K_ENTER_ADDRESS, 1, 0);
    else words[0] |= offset;
    vt_put(l, words, offset == VT_CODE_UNKNOWN ? 2 : 1, now);
    vt_busy_end(l);
    vt_after_function(l);
}

static inline __attribute__((always_inline)) void record(uintptr_t function, uint32_t leave)
{
    struct vt_location *l = vt_own_location;
    if (VT_UNLIKELY(!l || VT_READ(l->busy))) {
        record_slow(function, leave);
        return;
    }
    vt_busy_begin(l);
    uint64_t *at = l->cursor, dt, now = vt_now();
    uintptr_t offset = function - l->code_base[0];
    uint32_t slot = l->code_slot[0];
    dt = now - l->last;
    /* two cached modules: no look-up if calls alternate between them */
    if (VT_UNLIKELY(offset >= VT_READ(l->code_size[0]))) {
        offset = function - l->code_base[1];
        slot = l->code_slot[1];
        if (offset >= VT_READ(l->code_size[1])) goto slow;
    }
    if (VT_UNLIKELY(at >= VT_READ(l->limit) || VT_IS_LONG(dt))) goto slow;
    *at = dt << 32 | VT_FUNCTION | leave | (slot + (uint32_t)offset);
    VT_SET(l->last, now);
    vt_publish(l, at + 1);
    vt_busy_end(l);
    return;
slow:
    vt_busy_end(l);
    record_slow(function, leave);
}

/* Separate functions, so that a hook whose function is not recorded saves no registers. */
__attribute__((noinline)) void vt_record_enter(void *function, void *site)
{
    (void)site;
    record((uintptr_t)function, 0);
}

__attribute__((noinline)) void vt_record_exit(void *function, void *site)
{
    (void)site;
    record((uintptr_t)function, VT_FUNCTION_LEAVE);
}

/* libc has empty functions with these names. Modules linked by vtrace-cc require the version VTRACE_1, so that a
   plug-in of a program without vtrace never gets libc's functions. Modules linked by gcc alone require libc's version;
   they find the hooks of this file if libvtrace.so.1 is preloaded. */
#define VT_PUBLIC(hook) __attribute__((visibility("default"), alias(#hook)))
#ifdef VT_LIBC_VERSION
#define VT_HOOK(hook, name)                                                                                            \
    VT_PUBLIC(hook) void hook##_of_ours(void *function, void *site);                                                   \
    VT_PUBLIC(hook) void hook##_of_libc(void *function, void *site);                                                   \
    __asm__(".symver " #hook "_of_ours," #name "@@VTRACE_1");                                                          \
    __asm__(".symver " #hook "_of_libc," #name "@" VT_LIBC_VERSION);                                                   \
    void hook(void *function, void *site)
#else
#define VT_HOOK(hook, name)                                                                                            \
    VT_PUBLIC(hook) void name(void *function, void *site);                                                             \
    void hook(void *function, void *site)
#endif

VT_HOOK(vt_hook_enter, __cyg_profile_func_enter)
{
    if (VT_UNLIKELY(vt_function_rules) && !vt_passes((uintptr_t)function, 0)) return;
    vt_record_enter(function, site);
}

VT_HOOK(vt_hook_exit, __cyg_profile_func_exit)
{
    if (VT_UNLIKELY(vt_function_rules) && !vt_passes((uintptr_t)function, 1)) return;
    vt_record_exit(function, site);
}
