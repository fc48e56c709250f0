/* SPDX-License-Identifier: BSD-3-Clause */
/* A hook of -finstrument-functions inside of an executable or library that vtrace-cc links, out of libvtrace-inside.a: the
   compiler's call of it needs no jump through a table, and a function that a filter keeps out returns from here. At the
   first call libvtrace.so.1 tells which functions those are, and which function records the others (struct vt_inside). Each
   hook is a member of the archive by itself, so that a program may bring one of its own. */
#ifndef VT_HOOK_H
#define VT_HOOK_H

#include "../core/core.h"

#define VT_LOAD(x, order) __atomic_load_n(&(x), order)

__typeof__(vt_inside) vt_inside __attribute__((weak)); /* missing: nothing is recorded */

static void nothing(void *function, void *site)
{
    (void)function;
    (void)site;
}

/* Hidden functions come first: a jump costs as much as all the rest. */
#define VT_INSIDE(name, record, ask)                                                                                   \
    void name(void *function, void *site);                                                                             \
    static void first_##ask(void *function, void *site);                                                               \
    static const struct vt_inside unknown = {.ask = first_##ask}, without = {.ask = nothing};                          \
    static const struct vt_inside *rules = &unknown;                                                                   \
                                                                                                                       \
    static void first_##ask(void *function, void *site)                                                                \
    {                                                                                                                  \
        const struct vt_inside *r = &without;                                                                          \
        if (vt_inside) r = vt_inside(&rules, (uintptr_t)name);                                                         \
        r->ask(function, site);                                                                                        \
    }                                                                                                                  \
                                                                                                                       \
    __attribute__((aligned(64))) void name(void *function, void *site)                                                 \
    {                                                                                                                  \
        const struct vt_inside *r = VT_LOAD(rules, __ATOMIC_ACQUIRE);                                                  \
        uintptr_t bytes = VT_LOAD(r->bytes, __ATOMIC_ACQUIRE), at = (uintptr_t)function - r->start;                    \
        if (__builtin_expect(at < bytes, 1)) {                                                                         \
            uint8_t how = r->map[at >> 4];                                                                             \
            if (__builtin_expect(how == VT_FILTERED, 1)) return;                                                       \
            if (how == VT_SHOWN) {                                                                                     \
                r->record(function, site);                                                                             \
                return;                                                                                                \
            }                                                                                                          \
        }                                                                                                              \
        r->ask(function, site);                                                                                        \
    }

#endif
