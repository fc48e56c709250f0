/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings with text values: a moment (VT_START_AFTER, VT_STOP_AFTER) or a signal (VT_RING_SIGNAL). */
#ifndef VT_SETTING_TEXTS_H
#define VT_SETTING_TEXTS_H

#include "state.h"

#pragma GCC visibility push(hidden)

/* Parses seconds ("10", "0.5" or "10s"; *value in ns) or calls of a region ("REGION:100"; *value is the number).
   Returns the length of the region's name; 0 for seconds; -1 if the text is neither. */
long vt_setting_moment(const char *text, uint64_t *value);
/* Returns the number of a signal; 0 if vtrace does not accept the signal. */
int vt_setting_signal(const char *name);

/* Reads such a setting from the environment into a text; "" if it is unset or invalid. speaks: print a message if it is
   invalid. */
void vt_setting_read_moment(int speaks, const char *name, char *into, size_t bytes);
void vt_setting_read_signal(int speaks, const char *name, char *into, size_t bytes);
/* Checks that the settings are consistent; removes a VT_STOP_AFTER that is not later than VT_START_AFTER. */
void vt_setting_texts_check(struct vt_settings *set);

#pragma GCC visibility pop

#endif
