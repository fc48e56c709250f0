/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleds of programs that vtrace-cc has not compiled: -pg -mfentry, -fpatchable-function-entry, -fxray-instrument. These
   programs get a struct vt_sleds like that of csrc/hooks/sleds.s, in memory near the module. */
#ifndef VT_FOREIGN_H
#define VT_FOREIGN_H

#include "elf_file.h"
#include "sleds.h"

#pragma GCC visibility push(hidden)

/* Turns the sleds of a module into calls as gcc writes them. bias: added to the file's addresses. start, bytes: the
   code. Returns NULL if the module has no such sleds, or if they cannot be changed; one line on stderr then says why.
   Call this function before the program's own code runs. */
struct vt_sleds *vt_foreign_sleds(struct vt_elf *e, uintptr_t bias, uintptr_t start, uintptr_t bytes);

/* Makes the module call vt_land where an exception ends. */
void vt_foreign_personality(const struct vt_elf *e, uintptr_t bias);

/* An enter hook of code without sleds at its returns jumps here first, with the address of the hook proper on the stack:
   the function will return to vt_sled_return. */
void vt_sled_take_return(void);

#pragma GCC visibility pop

#endif
