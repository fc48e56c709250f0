/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of settings that are words: yes or no, a moment (VT_START_AFTER, VT_STOP_AFTER), a signal (VT_RING_SIGNAL), a
   rate (VT_SAMPLE_RATE), names (VT_SAMPLE_EVENT, VT_METRICS), patterns (VT_FUNCTIONS). */
#ifndef VT_SETTING_TEXTS_H
#define VT_SETTING_TEXTS_H

#include "state.h"
#include "text.h"

#pragma GCC visibility push(hidden)

/* Returns 1 for a word for yes, 0 for a word for no; -1 if the text is neither. */
int vt_setting_yes(const char *text);
/* Parses seconds ("10", "0.5" or "10s"; *value in ns) or calls of a region ("REGION:100"; *value is the number).
   Returns the length of the region's name; 0 for seconds; -1 if the text is neither. */
long vt_setting_moment(const char *text, uint64_t *value);
/* Parses a rate per second ("100"), or a time between two samples ("10ms", "2s", "500us"). *ns: the time; 0 for 0.
   Returns 0 if the text is neither, or beyond 10 000 per second or an hour. */
int vt_setting_rate(const char *text, uint64_t *ns);
/* Appends a time in the notation that vt_setting_rate reads. */
void vt_setting_show_rate(struct vt_text *t, uint64_t ns);
/* Returns the number of a signal; 0 if vtrace does not accept the signal. */
int vt_setting_signal(const char *name);

/* Reads such a setting from the environment into a text; "" if it is unset or invalid. speaks 1: prints a message if
   the value is invalid. */
void vt_setting_read_moment(int speaks, const char *name, char *into, size_t bytes);
void vt_setting_read_signal(int speaks, const char *name, char *into, size_t bytes);
void vt_setting_read_words(int speaks, const char *name, char *into, size_t bytes);
void vt_setting_read_patterns(int speaks, const char *name, char *into, size_t bytes);
/* Checks that the settings are consistent; removes a VT_STOP_AFTER that is not later than VT_START_AFTER. */
void vt_setting_texts_check(struct vt_settings *set);

#pragma GCC visibility pop

#endif
