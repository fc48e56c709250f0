/* SPDX-License-Identifier: BSD-3-Clause */
#include "hook.h"

VT_INSIDE(__cyg_profile_func_enter, enter, ask_enter)
