/* SPDX-License-Identifier: BSD-3-Clause */
/* VT_START_AFTER and VT_STOP_AFTER. recording_window.c owns both moments. Times are in ticks of vt_now; `mono` is in ns
   of CLOCK_MONOTONIC_RAW. */
#ifndef VT_RECORDING_WINDOW_H
#define VT_RECORDING_WINDOW_H

#include "location.h"

/* Bits of a function whose calls a moment counts. The values follow those of enum vt_how and of filter_map.h. */
enum { VT_WATCHED_START = 4, VT_WATCHED_STOP = 8 };

#pragma GCC visibility push(hidden)

/* Reads the moments from the settings. */
void vt_window_prepare(void);
/* Runs when the runtime starts. mono: start of the program. */
void vt_window_start(uint64_t mono);
/* Returns 1 if a thread must call vt_window_apply. */
int vt_window_is_due(uint64_t now);
/* Switches recording on or off if a moment has come. l: location of the calling thread, with l->busy clear; NULL:
   none. */
void vt_window_apply(struct vt_location *l);
/* Notes the id of a newly defined region. */
void vt_window_defined(const char *name, uint32_t id);
/* Counts a record that enters a watched region. l: result of vt_location_to_record(0), also in the functions below.
   what: first word of the record. */
void vt_window_enter(struct vt_location *l, uint32_t what);
/* Looks for the end of the last counted call in the records just written. */
void vt_window_wrote(struct vt_location *l, const uint64_t *words, unsigned n);
/* Returns the time after which records are discarded; UINT64_MAX: none. */
uint64_t vt_window_cut(void);
/* Runs when recording ends. Prints a message if recording never started. */
void vt_window_end(struct vt_location *l);
/* 1: calls of a region are counted. */
extern int vt_window_watches;
/* First words of the records that enter or leave the watched regions; 0: none. */
extern uint32_t vt_window_enters[2], vt_window_leave;
/* Returns the bits VT_WATCHED_START and VT_WATCHED_STOP of a function with one of these n names. */
uint8_t vt_window_bits(const char *const *names, unsigned n);
/* Counts a call of a function with such bits. leaves: 1 at the end of the call. */
void vt_window_function(struct vt_location *l, uint8_t bits, int leaves);

#pragma GCC visibility pop

#endif
