/* SPDX-License-Identifier: BSD-3-Clause */
/* VT_START_AFTER, VT_STOP_AFTER. */
#ifndef VT_RECORDING_WINDOW_H
#define VT_RECORDING_WINDOW_H

#include "location.h"

/* Bits of a function that is recorded, and counted for a window; above enum vt_how and what a filter adds to it. */
enum { VT_WATCHED_START = 4, VT_WATCHED_STOP = 8 };

#pragma GCC visibility push(hidden)

void vt_window_prepare(void);
void vt_window_start(uint64_t mono); /* of the program's start */
int vt_window_is_due(uint64_t now); /* 1: somebody has to look */
void vt_window_look(struct vt_location *l); /* not under busy; l: of the calling thread, NULL: it has none */
void vt_window_defined(const char *name, uint32_t id);
void vt_window_enter(struct vt_location *l, uint32_t what); /* l: vt_location_to_record(0), here and below */
void vt_window_wrote(struct vt_location *l, const uint64_t *words, unsigned n);
uint64_t vt_window_cut(void); /* ticks: what was recorded later is taken back */
void vt_window_end(struct vt_location *l);
extern int vt_window_watches; /* calls of a region are counted */
extern uint32_t vt_window_enters[2], vt_window_leave;
uint8_t vt_window_bits(const char *const *names, unsigned n);
void vt_window_function(struct vt_location *l, uint8_t bits, int leaves);

#pragma GCC visibility pop

#endif
