/* SPDX-License-Identifier: BSD-3-Clause */
/* The run that a process belongs to, and what it hands on to the programs that it starts. */
#ifndef VT_LINEAGE_H
#define VT_LINEAGE_H

#include "state.h"

#define VT_FAMILY_NAME "VTRACE_PARENT="

#pragma GCC visibility push(hidden)

void vt_family_tell(void);
int vt_family_read(struct vt_file *h, struct vt_settings *set);
int vt_family_has_rank(void); /* this process, or one that has led to it, is a rank of an MPI_COMM_WORLD */
const char *vt_family_variable(void); /* what children get, with its name; NULL: nothing is recorded yet */
/* Has the environment of this process hold it, for what libc starts by itself. Not in the child of a vfork. */
void vt_family_enter(void);

#pragma GCC visibility pop

#endif
