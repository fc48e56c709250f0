/* SPDX-License-Identifier: BSD-3-Clause */
/* Sections of the program to sample: fipp_start and fipp_stop of the Instant Profiler (include/fj_tool/fipp.h). With
   VT_SAMPLE_SECTIONS only the samples inside sections are kept. The timers continue outside, so that each sample inside
   stands for the same time as without sections. Sections do not nest, and need not nest with the program's functions:
   markers show them on the timeline, with the CPU time of the process until then. */
#include <sys/resource.h>
#include "userwrap.h"

static void add_time(struct vt_text *t, struct timeval time, const char *mode)
{
    vt_text_dec(t, (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec);
    vt_text_add(t, mode);
}

static void mark(const char *name)
{
    char text[96];
    struct rusage usage;
    struct vt_text t = vt_text_into(text, sizeof text);
    vt_text_add(&t, "sampled section");
    if (VT_SYS2(getrusage, RUSAGE_SELF, &usage) >= 0) {
        vt_text_add(&t, "; process: ");
        add_time(&t, usage.ru_utime, " us user, ");
        add_time(&t, usage.ru_stime, " us system");
    }
    VT_User_marker__(VT_User_marker_def__(name, VT_MARKER_HINT), text);
}

/* begins: 1 for fipp_start, 0 for fipp_stop. */
VT_PUBLIC void VT_User_sample_section__(int begins)
{
    if (!vt_location_of_thread(0) || !vt_process.set.sample_sections || !vt_process.set.sample_period) return;
    if (atomic_exchange(&vt_process.unsampled, !begins) == (uint32_t)!begins) return;
    mark(begins ? "fipp_start" : "fipp_stop");
}
