/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of Linux, for counters and for sampling; names that resemble an unknown one. */
#ifndef VT_PERF_EVENTS_H
#define VT_PERF_EVENTS_H

#include "../core/process.h"

#pragma GCC visibility push(hidden)

/* ---- perf_events.c: finds names similar to an unknown name ---- */

#define VT_NEAR_NAMES 3

/* The nearest names so far. */
struct vt_near {
    const char *wanted;
    size_t length;
    unsigned count, distance; /* all names have this distance */
    char names[VT_NEAR_NAMES][VT_TEXT_NAME];
};

/* Begins a search. wanted need not end with 0, and must last. */
void vt_near_begin(struct vt_near *n, const char *wanted, size_t length);
/* Adds a name if no name so far is nearer. */
void vt_near_add(struct vt_near *n, const char *name);
/* Writes that `what` is unknown, with the nearest names: "unknown event, did you mean A or B? (...)". Returns into. */
const char *vt_near_tell(const struct vt_near *n, const char *what, char *into, size_t bytes);

/* The performance events of Linux (perf_event_open(2)) by the names that perf(1) and libpfm4 give them. */

/* An event. type, config, config1, config2: of struct perf_event_attr; counts_time: 1 if the event counts the thread's
   CPU time in ns; without_user, without_kernel: 1 if the name excludes events there (libpfm4's :k and :u). */
struct vt_perf_event {
    uint32_t type;
    int counts_time;
    uint64_t config, config1, config2;
    int without_user, without_kernel;
};

/* Finds an event: one of the software and hardware events of the kernel; rHEX, a raw event of the processor; an event of
   a PMU of the kernel (kernel_pmus.c); a name of libpfm4 (pfm_names.c), for which a library is loaded. Must not run in a
   signal handler. name need not end with 0. Returns 0 for an unknown name. */
int vt_perf_find(const char *name, size_t length, struct vt_perf_event *found);
/* Returns 1 for an event that the kernel counts, 0 for one of the processor. */
int vt_perf_is_of_kernel(const struct vt_perf_event *event);
/* Returns the meaning of such an event, in words. */
const char *vt_perf_meaning(const char *name, size_t length);
/* Adds the names of all events to the candidates for an unknown name. Must not run in a signal handler. */
void vt_perf_add_names(struct vt_near *near);
/* Opens an event of the calling thread, without its kernel part if the kernel does not allow that. period: 0, or the
   number of events after which the kernel sends a signal; such an event begins with PERF_EVENT_IOC_REFRESH. Returns a
   descriptor above those that the program's own opens return, with close-on-exec, or -errno. */
long vt_perf_open(const struct vt_perf_event *event, uint64_t period);
/* Opens an event that counts for the calling thread, in the group of the event `leader`; -1: in a group of its own. A
   read of the leader gives the number of events, the ns that the group was enabled and running, and the values. Returns
   the same as vt_perf_open. */
long vt_perf_count(const struct vt_perf_event *event, long leader);
/* Returns the reason why vt_perf_open has failed. error: -errno. */
const char *vt_perf_reason(long error);
/* Returns the reason why the kernel sends the calling thread no signals after `period` events; NULL: it does. */
const char *vt_perf_unsampled(const struct vt_perf_event *event, uint64_t period);

#pragma GCC visibility push(default)

/* Lists the events of the kernel for `vtrace counters`, a line each with fields separated by tabs: name, what counts
   the event, meaning, why this thread cannot count the event, and why the event cannot sample the thread; the last two
   are empty if possible. Omits lines for which there is no room. Returns the length. */
size_t vt_perf_list(char *into, size_t bytes);

#pragma GCC visibility pop

#pragma GCC visibility pop

#endif
