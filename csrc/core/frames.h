/* SPDX-License-Identifier: BSD-3-Clause */
/* The frames of a thread: its open calls of functions with sleds (csrc/funwrap) and of functions that a shim wraps.
   Stacks grow downwards, so the frame of a callee lies below that of its caller. A call that longjmp or an exception
   left has a dead frame. The runtime writes the leave of a dead frame when it learns of the jump (funwrap/landing.c,
   csrc/hooks/personality.h, vt_unwinds), or else before the next enter or leave at the same level of the stack or
   above.

   The frame of a shim's call stays open if its stack is not known: a coroutine may have been interrupted in the call.
   Only the thread of a location changes its frames. Most functions here require that l->busy is set. */
#ifndef VT_FRAMES_H
#define VT_FRAMES_H

#include "location.h"

#pragma GCC visibility push(hidden)

/* Returns the frame of the call whose return address is at `at`; NULL: the call is not recorded. Records the leaves of
   dead frames. entered: 1 if a call begins at `at`; a frame there is dead, too. */
struct vt_frame *vt_frames_find(struct vt_location *l, uintptr_t at, int entered);
/* Removes the innermost frame and records its leave. */
void vt_frames_pop(struct vt_location *l);
/* Adds a frame. Returns 0 if there is no memory: then recording stops, and the call counts as lost. */
int vt_frames_push(struct vt_location *l, uintptr_t at, uint64_t what);
/* Records an event of a function. what: as in struct vt_frame. */
void vt_frames_record(struct vt_location *l, uint64_t what, int leaves);
/* Records the leaves of the frames below the stack pointer of a landing. */
void vt_frames_land(struct vt_location *l, uintptr_t stack_pointer);
/* A shim's call begins (at: as in struct vt_frame) or ends. Record the leaves of dead frames. here: an address in the
   stack below the wrapper, by less than VT_WRAPPER_STACK. */
void vt_frames_open(struct vt_location *l, uintptr_t at, uint32_t region);
void vt_frames_close(struct vt_location *l, uintptr_t here, uint32_t region);
#define VT_WRAPPER_STACK 16384u
/* As vt_land, if both the calling function and the landing are on the thread's own stack. */
void vt_land_on_own(uintptr_t stack_pointer);
/* Records the leaves of all frames. These two functions require that l->busy is clear. */
void vt_frames_end(struct vt_location *l);
/* Writes records without looking at the frames (record.c). Requires that l->busy is clear. */
void vt_write_words(uint64_t *words, unsigned n);

/* Addresses of a stack. A signal handler or coroutine may run on another stack than the thread's own one. */
struct vt_stack {
    uintptr_t start, end;
};
/* Returns the part of the memory in which a frame may belong to the same stack as a frame at `at`. These two functions
   change no vector register, and need no busy word. */
struct vt_stack vt_stack_of(const struct vt_location *l, uintptr_t at);
/* Returns 1 if a signal handler runs on an alternate stack. */
int vt_stack_alternate(struct vt_stack *stack);

#pragma GCC visibility pop

/* Returns the innermost frame, vt_no_frame if there is none. A signal handler may fork at any moment, after which the
   location is empty in the child: load the frame once for each use. */
static inline VT_GENERAL_REGISTERS struct vt_frame *vt_frames_top(const struct vt_location *l)
{
    struct vt_frame *f = VT_READ(l->frame);
    return f ? f : &vt_no_frame;
}

static inline VT_GENERAL_REGISTERS int vt_stack_holds(const struct vt_stack *stack, uintptr_t at)
{
    return at - stack->start < stack->end - stack->start;
}

#endif
