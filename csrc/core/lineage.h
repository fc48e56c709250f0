/* SPDX-License-Identifier: BSD-3-Clause */
/* The run of a process, and the environment variable that passes the run to the programs that the process starts. */
#ifndef VT_LINEAGE_H
#define VT_LINEAGE_H

#include "state.h"

#define VT_FAMILY_NAME "VTRACE_PARENT="

#pragma GCC visibility push(hidden)

/* Reads the run id that vtrace run chose. Returns 0 if there is none. */
int vt_lineage_run(uint8_t run[16]);
/* The default prefix of the run, which is that of its first program; NULL: this is the first program, or unknown. */
const char *vt_lineage_prefix(void);
/* 1: a program of the run has started this program. */
int vt_lineage_has_parent(void);
/* Writes the state of this process (vt_process) into the variable. */
void vt_lineage_tell(void);
/* Reads the variable into h (run, parent) and set (prefix, directories). Returns 0 if this program has no traced
   parent. */
int vt_lineage_read(struct vt_file *h, struct vt_settings *set);
/* 1: this process or one of its ancestors is a rank of an MPI_COMM_WORLD. */
int vt_lineage_has_rank(void);
/* Lets environ be an array with the variable while libc itself starts a program (system, popen): the array and the
   strings of the program stay as they are. Returns 1 if vt_lineage_return must follow; 0: there is nothing to pass, or
   another thread is in such a call. Must not be called in the child of a vfork. */
int vt_lineage_lend(void);
/* Gives environ back to the program. */
void vt_lineage_return(void);
/* Gives environ back in a child that was forked meanwhile, before the child's thread loses its location. */
void vt_lineage_forked(void);

#pragma GCC visibility pop

#endif
