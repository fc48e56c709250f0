/* SPDX-License-Identifier: BSD-3-Clause */
/* The code space: offsets of functions, which function events store. module.c owns the table of modules. */
#ifndef VT_MODULE_H
#define VT_MODULE_H

#include "location.h"

struct dl_phdr_info;

#pragma GCC visibility push(hidden)

/* Returns the offset of the function at this address; VT_CODE_UNKNOWN: it has none. Requires that l->busy is set. */
uint32_t vt_code_offset(struct vt_location *l, uintptr_t address);
/* Like vt_code_offset, for any thread and without the cache of the location, which gets the definition of a new
   module. */
uint32_t vt_code_slot(struct vt_location *l, uintptr_t start);
/* Like vt_code_slot, for a signal handler: info is the module's, and the loader is not asked. */
uint32_t vt_code_slot_in(struct vt_location *l, uintptr_t start, const struct dl_phdr_info *info);
/* Finds vt_module_of's function. Must not run in a signal handler. */
void vt_module_prepare(void);
/* Finds the module of code that runs, and takes no lock: for a signal handler that has interrupted this code. Returns 0
   for code in no module, and before glibc 2.35. Only the address, name and program headers of info are set. */
int vt_module_of(uintptr_t address, struct dl_phdr_info *info);
/* As vt_code_offset, but VT_CODE_UNKNOWN for a module without events. Changes no vector register. */
uint32_t vt_code_known_offset(struct vt_location *l, uintptr_t address);
/* Returns the address of a function in a loaded module; 0: none. what: offset in the code space, with other bits above
   VT_CODE_MASK. */
uintptr_t vt_code_address(uint32_t what);
/* Call this function after dlclose: takes the unloaded modules out of the table. */
void vt_code_forget_unloaded(void);
/* Registers a function that runs after modules have been unloaded. */
void vt_on_unload(void (*call)(void));

#pragma GCC visibility pop

#endif
