/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings, from the environment. An invalid value causes a message, never a failure. settings.c owns the table of
   all settings. */
#ifndef VT_SETTINGS_H
#define VT_SETTINGS_H

#include <stddef.h>
#include "state.h"

#pragma GCC visibility push(hidden)

/* Reads all settings from the environment; vt_process.set only once. */
void vt_settings_read(struct vt_settings *set);
/* Returns the current value of setting number i, valid until the next call; "" for an empty text; NULL if i is too
   large. */
const char *vt_settings_value(size_t i, const char **name);
/* Writes a size in bytes with its unit, such as "1G". */
void vt_settings_show_size(char *into, size_t bytes, uint64_t size);
/* Returns 1 if shims of a kind (enum vt_shim_kind) need the runtime. May be called before the runtime starts. */
int vt_settings_want(uint32_t kind);
/* Returns 1 if the settings let shims of a kind record. */
int vt_settings_allow(uint32_t kind);
/* Returns the value of VT_PTHREAD. May be called before the runtime starts. */
enum vt_pthread vt_settings_pthread(void);
/* Returns the value of VT_EXECTRACE: 1 for yes. May be called before the runtime starts. */
int vt_exec_is_traced(void);

#pragma GCC visibility pop

#endif
