/* SPDX-License-Identifier: BSD-3-Clause */
/* A part of each program that the Tracer's wrappers link (vtrace compat --install): the Tracer's defaults where they
   differ from vtrace's. csrc/core/settings_file.c reads them after the settings files. */
#ifdef ONE_FLUSH
#define MORE "VT_MAX_FLUSHES=1\0"
#else
#define MORE ""
#endif

__attribute__((visibility("default"))) const char vt_program_settings[] = "VT_VERBOSE=0\0" MORE;
