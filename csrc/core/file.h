/* SPDX-License-Identifier: BSD-3-Clause */
/* The local files. */
#ifndef VT_FILE_H
#define VT_FILE_H

#include "location.h"

#pragma GCC visibility push(hidden)

int vt_file_flush(struct vt_location *l);
int vt_file_flush_events(struct vt_location *l); /* without definitions, which stay in the buffer */
int vt_file_flush_last(struct vt_location *l); /* into the room that was kept for it */
void vt_file_start(void);
void vt_file_rename(struct vt_location *l, const char *old_prefix, uint32_t old_rank);
void vt_file_uctl(void);
int vt_file_is_there(void);

#pragma GCC visibility pop

#endif
