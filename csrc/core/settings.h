/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings: from the environment; complains about wrong values, never fails. */
#ifndef VT_SETTINGS_H
#define VT_SETTINGS_H

#include <stddef.h>
#include "state.h"

#pragma GCC visibility push(hidden)

void vt_settings_read(struct vt_settings *set);
/* The value in force of setting number i, "" for an empty text, until the next call; NULL: there are no more. */
const char *vt_settings_value(size_t i, const char **name);
void vt_settings_show_size(char *into, size_t bytes, uint64_t size); /* "1G" */
int vt_settings_want(uint32_t kind);
int vt_settings_allow(uint32_t kind);
enum vt_pthread vt_settings_pthread(void);
int vt_exec_is_traced(void); /* what VT_EXECTRACE says */

#pragma GCC visibility pop

#endif
