/* SPDX-License-Identifier: BSD-3-Clause */
/* The sleds of clang's -fxray-instrument. */
#ifndef VT_XRAY_H
#define VT_XRAY_H

#include "sleds.h"

#pragma GCC visibility push(hidden)

/* Turns the sleds of a module into calls of on_enter and on_leave, as gcc writes them, which patch.c then switches. Call
   this function once for each module. Returns 0 if the code cannot be changed: the module's functions are not recorded.
   Source: LLVM, "XRay Instrumentation", and struct XRaySledEntry, version 2, of compiler-rt. */
int vt_xray_make_calls(const struct vt_sleds *sleds);

#pragma GCC visibility pop

#endif
