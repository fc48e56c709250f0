/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings that are texts of their own kinds: a moment (VT_START_AFTER, VT_STOP_AFTER), a signal (VT_RING_SIGNAL). */
#ifndef VT_SETTING_TEXTS_H
#define VT_SETTING_TEXTS_H

#include "state.h"

#pragma GCC visibility push(hidden)

/* Seconds, "10", "0.5" or "10s", in ns, or "REGION:100". The number of the region's characters, 0 for seconds, -1 for neither. */
long vt_setting_moment(const char *text, uint64_t *value);
int vt_setting_signal(const char *name); /* its number, 0: not one that may be used */
void vt_setting_texts_read(struct vt_settings *set);

#pragma GCC visibility pop

#endif
