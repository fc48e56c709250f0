/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings that are texts of their own kinds: a moment (VT_START_AFTER, VT_STOP_AFTER), a signal (VT_RING_SIGNAL). */
#ifndef VT_SETTING_TEXTS_H
#define VT_SETTING_TEXTS_H

#include "state.h"

#pragma GCC visibility push(hidden)

/* Seconds, "10", "0.5" or "10s", in ns, or "REGION:100". The number of the region's characters, 0 for seconds, -1 for neither. */
long vt_setting_moment(const char *text, uint64_t *value);
int vt_setting_signal(const char *name); /* its number, 0: not one that may be used */

/* Such a setting from the environment, "" if it is not set or wrong, which is told where speaks is not 0. */
void vt_setting_read_moment(int speaks, const char *name, char *into, size_t bytes);
void vt_setting_read_signal(int speaks, const char *name, char *into, size_t bytes);
void vt_setting_texts_check(struct vt_settings *set); /* whether they fit together */

#pragma GCC visibility pop

#endif
