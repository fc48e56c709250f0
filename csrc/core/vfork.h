/* SPDX-License-Identifier: BSD-3-Clause */
/* vfork, whose child runs in the memory of its parent. */
#ifndef VT_VFORK_H
#define VT_VFORK_H

#pragma GCC visibility push(hidden)

/* Registers functions that vfork calls: `begins` before the system call, `ends` after it, in the parent only. ends gets
   the result of the system call, and returns the result of vfork. */
void vt_vfork_record(void (*begins)(void), int (*ends)(long result));

#pragma GCC visibility pop

#endif
