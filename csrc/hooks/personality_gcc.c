/* SPDX-License-Identifier: BSD-3-Clause */
#include "personality.h"

VT_PERSONALITY(__gcc_personality_v0)
