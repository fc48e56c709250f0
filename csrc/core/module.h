/* SPDX-License-Identifier: BSD-3-Clause */
/* The code space. */
#ifndef VT_MODULE_H
#define VT_MODULE_H

#include "location.h"

#pragma GCC visibility push(hidden)

uint32_t vt_code_offset(struct vt_location *l, uintptr_t address);
void vt_code_forget_unloaded(void); /* after a dlclose */

#pragma GCC visibility pop

#endif
