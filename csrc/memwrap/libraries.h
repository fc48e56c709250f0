/* SPDX-License-Identifier: BSD-3-Clause */
/* The setting VT_MEMTRACE_LIBRARIES: records the library that calls malloc or a related function. */
#ifndef VT_LIBRARIES_H
#define VT_LIBRARIES_H

/* Called once, when the shim is attached. on: the value of the setting. */
void vt_libraries_begin(int on);
/* Writes the attribute of a recorded call, before its ENTER. caller: the return address of the call. */
void vt_library_of_next(const void *caller);

#endif
