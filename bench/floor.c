/* SPDX-License-Identifier: BSD-3-Clause */
/* The floor of a function event: hooks in a shared library that only read the clock and store 8 bytes into a mapping of
   the same kind as vtrace's buffer. */
#include "mapping.h"
#include "now.h"

void __cyg_profile_func_enter(void *function, void *site)
{
    (void)site;
    *record(1) = now() << 32 | (uint32_t)(uintptr_t)function;
}

void __cyg_profile_func_exit(void *function, void *site)
{
    (void)site;
    *record(1) = now() << 32 | 0x40000000 | (uint32_t)(uintptr_t)function;
}
