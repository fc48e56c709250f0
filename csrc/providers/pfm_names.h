/* SPDX-License-Identifier: BSD-3-Clause */
/* The events of processors by libpfm4's names: INST_RETIRED:ANY_P, perf::PAGE-FAULTS. Where libpfm4 is not installed, its
   names are unknown. These functions load a library: they must not run in a signal handler. */
#ifndef VT_PFM_NAMES_H
#define VT_PFM_NAMES_H

#include <stddef.h>
#include "../core/text.h"
#include "perf_events.h"

#pragma GCC visibility push(hidden)

/* Finds an event. name need not end with 0. Returns 0 for an unknown name. */
int vt_pfm_find(const char *name, size_t length, struct vt_perf_event *found);
/* Calls visit for the name of each event of the PMUs of this machine: PMU::EVENT. */
void vt_pfm_each(void (*visit)(const char *name, void *data), void *data);
/* Appends the name of each PMU of this machine and a blank; nothing if libpfm4 is not loaded yet. */
void vt_pfm_names(struct vt_text *into);

#pragma GCC visibility pop

#endif
