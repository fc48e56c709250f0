/* SPDX-License-Identifier: BSD-3-Clause */
/* The child of a vfork, in the memory of its parent. */
#ifndef VT_VFORK_H
#define VT_VFORK_H

#pragma GCC visibility push(hidden)

/* Has vfork call these: before, and in the parent alone after it, with the result of the system call. ends returns what vfork
   returns. */
void vt_vfork_record(void (*begins)(void), int (*ends)(long result));

#pragma GCC visibility pop

#endif
