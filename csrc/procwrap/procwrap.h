/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that a program starts, and programs that replace it (exec).

   This folder owns VTRACE_PARENT and the variables that an environment must have so that a program joins the run. Its
   functions may run in the child of a vfork or in a signal handler: they take no lock and call no malloc. Records of
   the process are complete before exec or _exit is called. */
#ifndef VT_PROCWRAP_H
#define VT_PROCWRAP_H

#include "../core/process.h"

#define VT_CALL_OF(function) {#function, VT_PARADIGM_NONE, VT_ROLE_FUNCTION, 0, NULL}
#define VT_ENTRIES 252

#pragma GCC visibility push(hidden)

/* Room on the stack for the environment of another program. A larger environment gets pages. */
struct vt_environment {
    char *entries[VT_ENTRIES];
    char preload[1024], python[1024], asan[512];
};

/* Returns the environment that a program gets in place of given, so that it joins the run. path: of the program, or
   NULL. A child of vfork may call this function. If there is no room, returns given. */
char **vt_environment(char *const *given, struct vt_environment *room, const char *path);

/* Begins a call. path: path of the program, or NULL. starts: the call starts a process. Returns the region, or 0 if the
   call is not recorded. */
uint32_t vt_begin_process(struct vt_call *c, const char *path, int starts);

/* Ends the call. process: process id of the process that was started or waited for; 0: none. error: errno or 0. */
void vt_end_process(uint32_t region, int64_t process, int error);

#pragma GCC visibility pop

#endif
