/* SPDX-License-Identifier: BSD-3-Clause */
/* VT_RING_SIGNAL. signal.c owns the action that the program set for this signal. */
#ifndef VT_SIGNAL_H
#define VT_SIGNAL_H

#include "state.h"

#pragma GCC visibility push(hidden)

/* Installs the handler, if the setting asks for it. Runs once, when the runtime starts. */
void vt_signal_start(void);

#pragma GCC visibility pop

#endif
