/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that a program starts and becomes: who starts whom, which program, and that they all belong to one run. */
#ifndef VT_PROCWRAP_H
#define VT_PROCWRAP_H

#include "../core/call.h"

#define VT_CALL_OF(function) {#function, VT_PARADIGM_NONE, VT_ROLE_FUNCTION, 0, NULL}
#define VT_ENTRIES 252

#pragma GCC visibility push(hidden)

/* Room on the stack for the environment of another program; larger ones get pages. */
struct vt_environment {
    char *entries[VT_ENTRIES];
    char preload[1024];
};

/* The environment that a program is to get instead of given, so that it joins the run. A child of vfork may call it. */
char **vt_environment(char *const *given, struct vt_environment *room);

/* The begin of a call that is recorded. path: the program's, or NULL. Returns the region, 0 where it is not recorded. */
uint32_t vt_begin_process(struct vt_call *c, const char *path, int starts);

/* Its end. process: kernel id of the process that was started or waited for, 0: none. error: errno or 0. */
void vt_end_process(uint32_t region, int64_t process, int error);

#pragma GCC visibility pop

#endif
