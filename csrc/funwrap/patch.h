/* SPDX-License-Identifier: BSD-3-Clause */
/* Switches the sleds of functions in running code (sled_code.h). */
#ifndef VT_PATCH_H
#define VT_PATCH_H

#include "sleds.h"

struct vt_patch_list {
    struct vt_patch_site {
        uintptr_t at; /* address of the sled */
        uintptr_t place; /* vt_patch_place of the function */
    } *sites;
    size_t n, room;
};

/* The changes of one module. The caller sets the first members, the others to 0. */
struct vt_patch {
    const struct vt_sleds *sleds;
    uintptr_t start, bytes; /* the module's code */
    struct vt_patch_list lists[4]; /* by enum vt_patch_step */
    uint32_t refused; /* number of functions that could not be switched */
};

/* The order of the changes: a call that is recorded must also find its leave. */
enum vt_patch_step { VT_PATCH_LEAVES_ON, VT_PATCH_ENTERS_ON, VT_PATCH_ENTERS_OFF, VT_PATCH_LEAVES_OFF };

#pragma GCC visibility push(hidden)

/* Returns the address by which a function with sleds is recorded, which lies after its first sled; 0: the function has
   no sled at its start. */
uintptr_t vt_patch_place(const struct vt_sleds *sleds, uintptr_t function, size_t bytes);
/* Notes the changes to a function, or to a part that the compiler has moved away from it. */
void vt_patch_function(struct vt_patch *p, uintptr_t function, size_t bytes, int on);
/* Changes the code. Returns 1 if all functions are switched as noted. */
int vt_patch_apply(struct vt_patch *p);
/* Makes the pages of this code writable, or read-only again. Returns 0 if the system refuses. */
int vt_patch_protect(uintptr_t start, uintptr_t bytes, int writable);
/* All processors see the changes made so far before the next ones. */
void vt_patch_settle(void);
/* Switches the first sled of a function off. Safe in signal handlers. */
void vt_patch_enter_off(uintptr_t place);

#pragma GCC visibility pop

#endif
