/* SPDX-License-Identifier: BSD-3-Clause */
/* The run of a process, and the environment variable that passes the run to the programs that the process starts. */
#ifndef VT_LINEAGE_H
#define VT_LINEAGE_H

#include "state.h"

#define VT_FAMILY_NAME "VTRACE_PARENT="

#pragma GCC visibility push(hidden)

/* Writes the state of this process (vt_process) into the variable, and the variable into the environment. */
void vt_lineage_tell(void);
/* Reads the variable into h (run, parent) and set (prefix, directories). Returns 0 if this program has no traced
   parent. */
int vt_lineage_read(struct vt_file *h, struct vt_settings *set);
/* 1: this process or one of its ancestors is a rank of an MPI_COMM_WORLD. */
int vt_lineage_has_rank(void);
/* The variable as NAME=VALUE; NULL: nothing is recorded yet. */
const char *vt_lineage_variable(void);
/* Puts the variable into the environment again, before libc itself starts a program (system, popen). Must not be called
   in the child of a vfork. */
void vt_lineage_enter(void);

#pragma GCC visibility pop

#endif
