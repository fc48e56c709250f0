/* SPDX-License-Identifier: BSD-3-Clause */
/* Records functions by their sleds: calls at the start of a function and before its end, which the compiler writes
   after inlining (csrc/hooks/sleds.s). sled_hooks_*.c has the hooks, core/frames.c the open calls of each thread,
   sleds.c the modules.

   In these files these rules always hold:
   - An enter adds a frame if its call is recorded. A leave records only the call of its own frame, so an enter that was not recorded gets no leave.
   - A frame whose function was left without a leave (exception, longjmp) is dead. Each landing and each event of the
     thread records the leaves of dead frames first.
   - Only the thread of a location changes its frames, while busy is set. */
#ifndef VT_SLEDS_H
#define VT_SLEDS_H

#include "../core/frames.h"

#if defined(__x86_64__) || defined(__aarch64__)
#define VT_HAS_SLEDS 1
#else
#define VT_HAS_SLEDS 0
#endif

#pragma GCC visibility push(hidden)

/* Returns the number of the thread's recorded open functions. */
uint32_t vt_frames_depth(const struct vt_location *l);
/* Decides about a call by the plain rules. code: address in the function. */
enum { VT_SLED_DROP, VT_SLED_RECORD, VT_SLED_ASK };
int vt_sled_judge(uintptr_t code);
/* Return 1 if nothing is left to do for the event; 0: call vt_sled_ask_enter or vt_sled_ask_leave. at: address of the
   function's return address. */
int vt_sled_enters(uintptr_t at, uintptr_t code);
int vt_sled_leaves(uintptr_t at);
/* Apply all rules. */
void vt_sled_entered(uintptr_t at, uintptr_t code);
void vt_sled_left(uintptr_t at, uintptr_t code);

/* Returns the sleds of the module with this code; NULL: none, or not attached yet. */
struct vt_sleds *vt_sleds_in(uintptr_t start, uintptr_t bytes);
/* Notes the sleds of the module with this address in its code. Returns 0 if the table is full. */
int vt_sleds_keep(struct vt_sleds *sleds, uintptr_t code);
/* Returns an address in the code of module number i < VT_SLED_MODULES; 0: there is none. */
#define VT_SLED_MODULES 1024u /* the sleds of further modules stay on, and their hooks apply the rules */
uintptr_t vt_sleds_code(uint32_t i);
/* Chooses the hooks of a module. asks: 1: a rule needs to see the events. */
void vt_sleds_use(struct vt_sleds *sleds, int asks);
/* Call this function after dlclose. */
void vt_sleds_forget_unloaded(void);

/* The hooks of struct vt_sleds. vt_sled_check_enter applies the plain rules first. */
void vt_sled_enter(void);
void vt_sled_leave(void);
void vt_sled_check_enter(void);
void vt_sled_ask_enter(void);
void vt_sled_ask_leave(void);
/* Called by vt_sleds_attach. */
void vt_sleds_found(struct vt_sleds *sleds);

#pragma GCC visibility pop

#endif
