/* SPDX-License-Identifier: BSD-3-Clause */
/* Unwinds the stack of the calling thread in a signal handler: no malloc, no lock, no call of the loader. Each load from
   the stack is checked before. */
#ifndef VT_UNWIND_H
#define VT_UNWIND_H

#include "../core/format.h"
#include "code_map.h"

#define VT_UNWIND_CACHE 1024u /* instructions; a power of two */

/* A rule that the cache keeps, with the place of the instruction as a frame. */
struct vt_unwind_known {
    uintptr_t place; /* address of the instruction; 0: empty */
    uint32_t code; /* offset in the code space; VT_CODE_UNKNOWN: none */
    int32_t cfa;
    uint8_t rule; /* enum vt_unwind_rule; OWN: a frame of vtrace */
    int8_t bp;
};

/* The state that a thread keeps between unwindings. */
struct vt_unwinder {
    uintptr_t low, high; /* readable part of the thread's own stack; 0, 0: unknown yet */
    uintptr_t top; /* an address in the page of the stack that is known to be its end; 0: unknown */
    int frame_pointers; /* 1: follow frame pointers where no table has a rule */
    uint32_t generation; /* generation of the map that filled the cache */
    struct vt_unwind_known cache[VT_UNWIND_CACHE];
};

/* The registers of the interrupted instruction. */
struct vt_registers {
    uintptr_t pc, sp, bp;
};

#pragma GCC visibility push(hidden)

/* Prepares the state of the calling thread, whose memory is zeroed. is_main: the first thread of the process;
   frame_pointers: 1: follow frame pointers in code without a table (VT_SAMPLE_FRAME_POINTERS). */
void vt_unwind_begin(struct vt_unwinder *u, int is_main, int frame_pointers);
/* Stores the frames of the stack, innermost first, as in the record of a sample; at most VT_SAMPLE_FRAMES. Returns their
   number, at least 1; *end: why there are no more. map NULL: only the innermost frame. */
uint32_t vt_unwind(struct vt_unwinder *u, const struct vt_code_map *map, struct vt_registers at, uint64_t *frames,
                   enum vt_sample_end *end);

#pragma GCC visibility pop

#endif
