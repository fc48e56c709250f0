/* SPDX-License-Identifier: BSD-3-Clause */
#include "personality.h"

VT_PERSONALITY(__gxx_personality_v0)
