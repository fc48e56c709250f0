/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings: from the environment; complains about wrong values, never fails. */
#ifndef VT_SETTINGS_H
#define VT_SETTINGS_H

#include "state.h"
#include "location.h"

#pragma GCC visibility push(hidden)

void vt_settings_read(struct vt_settings *set);
void vt_settings_define(struct vt_location *l);
/* What VT_MAX_SIZE is taken for; by_disk: because of the free space. */
void vt_settings_define_size(struct vt_location *l, uint64_t bytes, int by_disk);
void vt_settings_show_size(char *into, size_t bytes, uint64_t size); /* "1G" */
int vt_settings_want(uint32_t kind);
int vt_settings_allow(uint32_t kind);
enum vt_pthread vt_settings_pthread(void);
int vt_exec_is_traced(void); /* what VT_EXECTRACE says */

#pragma GCC visibility pop

#endif
