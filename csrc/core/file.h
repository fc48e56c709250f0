/* SPDX-License-Identifier: BSD-3-Clause */
/* The local files (docs/file-format.md). */
#ifndef VT_FILE_H
#define VT_FILE_H

#include "location.h"

#pragma GCC visibility push(hidden)

/* Writes the full chunks of a location to its files, definitions first, so that no file has events whose definitions
   are lost. Signal handlers may run between two chunks, while the location is unlocked: a handler may leave by
   siglongjmp. Returns 0 or -errno. */
int vt_file_flush(struct vt_location *l);
/* As vt_file_flush, for events only. Definitions remain in the buffer. */
int vt_file_flush_events(struct vt_location *l);
/* As vt_file_flush, for samples only, in a handler with all signals blocked. The modules in the samples may be defined
   later than here. */
int vt_file_flush_samples(struct vt_location *l);
/* As vt_file_flush, at the end of the location: the reserved room of the def file is now used. */
int vt_file_flush_last(struct vt_location *l);
/* Writes the head of a location's def file again, if the file exists. The caller holds the lock of the location. */
void vt_file_tell_head(struct vt_location *l);
/* Creates the def file of location 0, which has only its head. */
void vt_file_start(void);
/* Renames the existing files of a location after the prefix or rank of the process has changed, and writes their heads
   again. l NULL: location 0, before the location exists. */
void vt_file_rename(struct vt_location *l, const char *old_prefix, uint32_t old_rank);
/* Writes the file PREFIX.uctl, which has the run id and the number of ranks. */
void vt_file_uctl(void);
/* 1: the def file of location 0 exists under its name. */
int vt_file_is_there(void);

#pragma GCC visibility pop

#endif
