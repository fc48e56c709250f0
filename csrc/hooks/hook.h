/* SPDX-License-Identifier: BSD-3-Clause */
/* The hooks of -finstrument-functions in an executable or library that vtrace-cc links, from libvtrace-inside.a. The
   compiler's calls of such a hook need no jump through the PLT. The hook of a function that a filter excludes returns
   directly.

   libvtrace.so.1 owns the rules (struct vt_inside, funwrap/program_hooks.c). A hook owns only its pointer `rules`. In
   this folder these rules always hold:
   - A hook asks libvtrace.so.1 for the rules until it has a pointer to them. Without libvtrace.so.1 it records nothing.
   - A hook includes core.h only, since the runtime may be newer than the hook.
   - Each hook is a separate member of the archive, so that a program may define one of the two itself. */
#ifndef VT_HOOK_H
#define VT_HOOK_H

#include "../core/core.h"

#define VT_LOAD(x, order) __atomic_load_n(&(x), order)

__typeof__(vt_inside) vt_inside __attribute__((weak)); /* NULL without libvtrace.so.1: nothing is recorded */

/* Samples in this section belong to the calling function (vtrace.paths.PROGRAM_SECTION). */
#define VT_OF_VTRACE __attribute__((section(".vtrace.text")))

VT_OF_VTRACE static void nothing(void *function, void *site)
{
    (void)function;
    (void)site;
}

/* The test for excluded functions comes first: a taken jump costs as much as all other instructions of the hook. */
#define VT_INSIDE(name, record, ask)                                                                                   \
    void name(void *function, void *site);                                                                             \
    static void first_##ask(void *function, void *site);                                                               \
    static const struct vt_inside unknown = {.ask = first_##ask}, without = {.ask = nothing};                          \
    static const struct vt_inside *rules = &unknown;                                                                   \
                                                                                                                       \
    VT_OF_VTRACE static void first_##ask(void *function, void *site)                                                   \
    {                                                                                                                  \
        const struct vt_inside *r = &without;                                                                          \
        if (vt_inside) r = vt_inside(&rules, (uintptr_t)name);                                                         \
        r->ask(function, site);                                                                                        \
    }                                                                                                                  \
                                                                                                                       \
    VT_OF_VTRACE __attribute__((aligned(64))) void name(void *function, void *site)                                    \
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
