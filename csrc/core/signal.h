/* SPDX-License-Identifier: BSD-3-Clause */
/* VT_RING_SIGNAL, and the signals of sampling. signal.c owns the actions that the program set for VT_RING_SIGNAL and for
   SIGIO. */
#ifndef VT_SIGNAL_H
#define VT_SIGNAL_H

#include <signal.h>
#include "state.h"

#pragma GCC visibility push(hidden)

/* Installs the handler, if the setting asks for it. Runs once, when the runtime starts. */
void vt_signal_start(void);
/* Calls a function before the program changes the action of a signal that vtrace uses. */
void vt_signal_watch(int signal, void (*taken)(void));
/* Calls a function at each SIGIO that the program does not ignore, before the program's handler. has_handler: 1 if the
   program has one. If the function returns 1, SIGIO has no other effect; else the program's action follows. */
void vt_signal_guard_io(int (*came)(const siginfo_t *info, void *context, int has_handler));

#pragma GCC visibility pop

#endif
