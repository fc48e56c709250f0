/* SPDX-License-Identifier: BSD-3-Clause */
/* The setting VT_MEMTRACE_LIBRARIES: the library that has called malloc or the like. */
#ifndef VT_LIBRARIES_H
#define VT_LIBRARIES_H

/* Called once, when the shim is attached; on: the setting. */
void vt_libraries_begin(int on);
/* Before the ENTER of a call that is recorded: writes its attribute. caller: the return address of the call. */
void vt_library_of_next(const void *caller);

#endif
