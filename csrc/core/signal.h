/* SPDX-License-Identifier: BSD-3-Clause */
/* The signal of VT_RING_SIGNAL. */
#ifndef VT_SIGNAL_H
#define VT_SIGNAL_H

#include "state.h"

#pragma GCC visibility push(hidden)

void vt_signal_start(void);

#pragma GCC visibility pop

#endif
