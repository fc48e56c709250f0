/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages of the kernel: malloc belongs to the program. */
#ifndef VT_MEMORY_H
#define VT_MEMORY_H

#include <stddef.h>
#include "core.h"

#pragma GCC visibility push(hidden)

void *vt_pages_wiped(size_t bytes); /* a forked child sees them zeroed */

#pragma GCC visibility pop

#endif
