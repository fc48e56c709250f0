/* SPDX-License-Identifier: BSD-3-Clause */
/* Records functions by their sleds: calls at the start of a function and before its end, which the compiler writes
   after inlining (csrc/hooks/sleds.s). sled_hooks_*.c has the hooks, frames.c the open calls of each thread, sleds.c
   the modules.

   In these files these rules always hold:
   - An enter adds a frame if its call is recorded. A leave records only the call of its own frame, so an enter that was not recorded gets no leave.
   - A frame whose function was left without a leave (exception, longjmp) is dead. Each landing and each event of the
     thread records the leaves of dead frames first.
   - Only the thread of a location changes its frames, while busy is set. */
#ifndef VT_SLEDS_H
#define VT_SLEDS_H

#include "../core/location.h"

#if defined(__x86_64__) || defined(__aarch64__)
#define VT_HAS_SLEDS 1
#else
#define VT_HAS_SLEDS 0
#endif

#pragma GCC visibility push(hidden)

/* Returns the frame of the call whose return address is at `at`; NULL: the call is not recorded. Records the leaves of
   dead frames. entered: 1 if a call begins at `at`; a frame there is dead, too. Requires that l->busy is set. */
struct vt_frame *vt_frames_find(struct vt_location *l, uintptr_t at, int entered);
/* Removes the innermost frame and records its leave. Requires that l->busy is set. */
void vt_frames_pop(struct vt_location *l);
/* Adds a frame. Requires that l->busy is set. Returns 0 if there is no memory: then recording stops, and the call counts
   as lost. */
int vt_frames_push(struct vt_location *l, uintptr_t at, uint64_t what);
/* Records an event of a function. what: as in struct vt_frame. Requires that l->busy is set. */
void vt_frames_record(struct vt_location *l, uint64_t what, int leaves);

/* Returns the innermost frame, vt_no_frame if there is none. A signal handler may fork at any moment, after which the
   location is empty in the child: load the frame once for each use. */
static inline VT_GENERAL_REGISTERS struct vt_frame *vt_frames_top(const struct vt_location *l)
{
    struct vt_frame *f = VT_READ(l->frame);
    return f ? f : &vt_no_frame;
}

/* Records the leaves of the frames below the stack pointer of a landing. Requires that l->busy is set. */
void vt_frames_land(struct vt_location *l, uintptr_t stack_pointer);

/* Addresses of a stack. A signal handler or coroutine may run on another stack than the thread's own one. */
struct vt_stack {
    uintptr_t start, end;
};
/* Returns the part of the memory in which a frame may belong to the same stack as a frame at `at`. These two functions
   change no vector register. */
struct vt_stack vt_stack_of(const struct vt_location *l, uintptr_t at);
/* Returns 1 if a signal handler runs on an alternate stack. */
int vt_stack_alternate(struct vt_stack *stack);
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

static inline VT_GENERAL_REGISTERS int vt_stack_holds(const struct vt_stack *stack, uintptr_t at)
{
    return at - stack->start < stack->end - stack->start;
}

#endif
