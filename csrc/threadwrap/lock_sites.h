/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VT_LOCK_SITES_H
#define VT_LOCK_SITES_H

#include <stdint.h>

/* The text with the stack of a call of a lock, for the attributes; 0: none. caller: return address in the program. The
   second function knows the stack of another thread by its innermost frame only. */
uint32_t vt_lock_site(uintptr_t caller);
uint32_t vt_lock_site_of(uintptr_t caller);

/* The attributes of waits; 0: none. Defined by the first call. */
struct vt_lock_attributes {
    uint32_t site, holder, condition, read, calls, name;
};
const struct vt_lock_attributes *vt_lock_attributes(void);

#endif
