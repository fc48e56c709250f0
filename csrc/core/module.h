/* SPDX-License-Identifier: BSD-3-Clause */
/* The code space: offsets of functions, which function events store. module.c owns the table of modules. */
#ifndef VT_MODULE_H
#define VT_MODULE_H

#include "location.h"

#pragma GCC visibility push(hidden)

/* Returns the offset of the function at this address; VT_CODE_UNKNOWN: it has none. Requires that l->busy is set. */
uint32_t vt_code_offset(struct vt_location *l, uintptr_t address);
/* Call this function after dlclose: takes the unloaded modules out of the table. */
void vt_code_forget_unloaded(void);

#pragma GCC visibility pop

#endif
