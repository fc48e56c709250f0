/* SPDX-License-Identifier: BSD-3-Clause */
/* The events of the kernel's PMUs (performance monitoring units), by perf's names: PMU/event/ and
   PMU/event=0x3c,umask=0x1/. Each PMU is a directory with the files type, format/TERM and events/EVENT
   (Documentation/ABI/testing/sysfs-bus-event_source-devices-*). */
#ifndef VT_KERNEL_PMUS_H
#define VT_KERNEL_PMUS_H

#include <stddef.h>
#include "../core/text.h"
#include "perf_events.h"

#define VT_PMU_ROOT "/sys/bus/event_source/devices"
#define VT_PMU_NAME_BYTES 256

/* Receives an event. name: PMU/event/; terms: its definition by the kernel. */
typedef void vt_pmu_visit(const char *name, const char *terms, const struct vt_perf_event *event, void *data);

#pragma GCC visibility push(hidden)

/* Finds an event of a PMU. root: directory of the PMUs; name need not end with 0. Returns 0 for an unknown name, an
   unknown term or a value that has too many bits for its term. */
int vt_pmu_find(const char *root, const char *name, size_t length, struct vt_perf_event *found);
/* Calls visit for each event that has a file of its own and needs no other terms. */
void vt_pmu_each(const char *root, vt_pmu_visit *visit, void *data);
/* Appends the name of each PMU and a blank. */
void vt_pmu_names(const char *root, struct vt_text *into);

#pragma GCC visibility pop

#endif
