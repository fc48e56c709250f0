/* SPDX-License-Identifier: BSD-3-Clause */
/* VT_RING_SIGNAL, and the signal of sampling. signal.c owns the action that the program set for VT_RING_SIGNAL. */
#ifndef VT_SIGNAL_H
#define VT_SIGNAL_H

#include "state.h"

#pragma GCC visibility push(hidden)

/* Installs the handler, if the setting asks for it. Runs once, when the runtime starts. */
void vt_signal_start(void);
/* Calls a function before the program changes the action of a signal that vtrace uses. */
void vt_signal_watch(int signal, void (*taken)(void));

#pragma GCC visibility pop

#endif
