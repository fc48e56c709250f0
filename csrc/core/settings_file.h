/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings files: VT_CONFIG=FILE, or ~/.config/vtrace/settings and /etc/vtrace.conf. The files contain lines
   NAME=VALUE, comments (lines that begin with #), and empty lines. The environment overrides the user's file, the
   user's file the system's, and the system's the text vt_program_settings of a program (csrc/tracer). */
#ifndef VT_SETTINGS_FILE_H
#define VT_SETTINGS_FILE_H

#pragma GCC visibility push(hidden)

/* Prints a message for each file that cannot be read and each line that is not a setting. */
void vt_settings_file_check(void);
/* Returns the name of setting number i of the files; NULL: i is too large. */
const char *vt_settings_file_name(unsigned i);

#pragma GCC visibility pop

#endif
