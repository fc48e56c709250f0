/* SPDX-License-Identifier: BSD-3-Clause */
/* Sections of the program to sample: fipp_start and fipp_stop of the Instant Profiler (include/fj_tool/fipp.h). With
   VT_SAMPLE_SECTIONS only the samples inside sections are kept. The timers continue outside, so that each sample inside
   stands for the same time as without sections. Sections do not nest, and need not nest with the program's functions:
   markers show them on the timeline. */
#include "userwrap.h"

static void mark(const char *name) { VT_User_marker__(VT_User_marker_def__(name, VT_MARKER_HINT), "sampled section"); }

/* begins: 1 for fipp_start, 0 for fipp_stop. */
VT_PUBLIC void VT_User_sample_section__(int begins)
{
    if (!vt_location_of_thread(0) || !vt_process.set.sample_sections || !vt_process.set.sample_period) return;
    if (atomic_exchange(&vt_process.unsampled, !begins) == (uint32_t)!begins) return;
    mark(begins ? "fipp_start" : "fipp_stop");
}
