/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory pages from the kernel. vtrace does not call malloc, since malloc belongs to the program. */
#ifndef VT_MEMORY_H
#define VT_MEMORY_H

#include <stddef.h>
#include "core.h"

#pragma GCC visibility push(hidden)

/* Returns zeroed pages of at least `bytes` bytes; NULL if there is no memory. A forked child finds the pages zeroed
   again (MADV_WIPEONFORK). */
void *vt_pages_wiped(size_t bytes);
/* Returns 1 if the page of an address can be read. */
int vt_is_readable(uintptr_t address);

#pragma GCC visibility pop

#endif
