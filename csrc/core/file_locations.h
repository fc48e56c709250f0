/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories and names of files, and the variables by which launchers describe the process. */
#ifndef VT_FILE_LOCATIONS_H
#define VT_FILE_LOCATIONS_H

#include "state.h"

#pragma GCC visibility push(hidden)

const char *vt_launcher_rank(void); /* NULL: none is told */
void vt_place_read(struct vt_settings *set);
void vt_place_read_path(const char *name, char *into, size_t bytes); /* a setting that names a file to be read */
void vt_place_count(struct vt_settings *set, uint32_t count);
int vt_place_has_room(const struct vt_settings *set); /* 0: neither for the buffer nor for files, which is told */

#pragma GCC visibility pop

#endif
