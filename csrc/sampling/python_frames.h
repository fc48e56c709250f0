/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of a Python program in the stack of a sample: CPython's frames replace the interpreter's. */
#ifndef VT_PYTHON_FRAMES_H
#define VT_PYTHON_FRAMES_H

#include "../core/format.h"
#include "../core/location.h"
#include "code_map.h"

#define VT_PYTHON_TEXT 4096u /* bytes of a name or path */
#define VT_PYTHON_KNOWN 2048u /* code objects that a thread remembers; a power of two */

/* A code object that the process has defined. The address of a released object may be used again: the other members
   distinguish the two objects. */
struct vt_python_code {
    uintptr_t code, name, table; /* addresses; code 0: empty */
    uint32_t line, id;
};

/* The state of a thread. Zeroed memory is the empty state. */
struct vt_python {
    struct vt_python_code known[VT_PYTHON_KNOWN];
    uint64_t native[VT_SAMPLE_FRAMES], frames[VT_SAMPLE_FRAMES];
    char name[VT_PYTHON_TEXT], file[VT_PYTHON_TEXT]; /* not on the handler's stack, which may be small */
};

#pragma GCC visibility push(hidden)

/* Looks for CPython in the process. Not in a signal handler. Warns about a version whose frames are unknown. */
void vt_find_python(void);
/* Replaces the frames of CPython's interpreter in a stack by the frames of the Python functions that it runs, for the
   calling thread, in a signal handler. frames: room for VT_SAMPLE_FRAMES; n of them are used. Returns the new number. */
uint32_t vt_python_replace(struct vt_location *l, struct vt_python *p, const struct vt_code_map *map, uint64_t *frames,
                           uint32_t n, enum vt_sample_end end);

#pragma GCC visibility pop

#endif
