/* SPDX-License-Identifier: BSD-3-Clause */
/* What the process is and obeys. */
#define _GNU_SOURCE
#include "state.h"

struct vt_process vt_process;
struct vt_scratch vt_scratch;
