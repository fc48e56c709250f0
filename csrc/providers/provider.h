/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters (VT_METRICS, VT_RUSAGE). A provider gives the values of its counters.

   counters.c owns the list of providers, the list of counters and their state in each thread. Each provider owns one
   file: perf_counters.c the events of Linux (names: perf_events.c, kernel_pmus.c, pfm_names.c), usage_counters.c
   getrusage, kernel_counters.c files of the kernel, malloc_counters.c glibc's malloc, replay_counters.c recorded values.
   In this folder these rules always hold:
   - A thread opens and reads only its own counters, so reading needs no lock.
   - A read may run in a signal handler, unless its provider has takes_locks: it takes no lock and allocates nothing.
   - The program may close any descriptor and reuse its number, so a read trusts no descriptor without a check.
   - Names are looked up before the program's own code runs, since libpfm4 allocates memory. */
#ifndef VT_PROVIDER_H
#define VT_PROVIDER_H

#include <stddef.h>
#include <stdint.h>
#include "perf_events.h"

#define VT_COUNTERS_ADDED 2u /* counters that a provider adds: time-enabled and time-running */
#define VT_COUNTERS_CHOSEN 24 /* largest number in a process */
#define VT_COUNTERS_MOST (VT_COUNTERS_CHOSEN + VT_COUNTERS_ADDED)
#define VT_COUNTER_NAME 128u

/* scope: THREAD: the calling thread's own value, read at each enter and leave; PROCESS, NODE: of the whole process or
   node, read at most once in VT_METRICS_INTERVAL; one process reads the counters of its node. */
enum vt_counter_scope { VT_SCOPE_THREAD, VT_SCOPE_PROCESS, VT_SCOPE_NODE };

/* The times of reading: AT_CALLS: at each enter and leave, and with samples; AT_CALLS_ONLY: not with samples;
   BY_THREAD: by each thread once in VT_RUSAGE_INTV; BY_PROCESS: by one thread once in VT_METRICS_INTERVAL. */
enum vt_counter_reading { VT_READ_AT_CALLS, VT_READ_AT_CALLS_ONLY, VT_READ_BY_THREAD, VT_READ_BY_PROCESS, VT_READINGS };

/* A counter. mode: as in METRIC (format.h). number, event: for its provider. reading: by counters.c. */
struct vt_counter {
    const struct vt_provider *provider;
    enum vt_counter_scope scope;
    enum vt_counter_reading reading;
    char mode;
    const char *unit, *meaning;
    uint32_t number;
    struct vt_perf_event event;
    char name[VT_COUNTER_NAME];
};

/* The state of a thread; zeroed at first. */
struct vt_provider_state {
    uint32_t opened; /* number of descriptors */
    int descriptors[VT_COUNTERS_MOST];
    uint64_t ids[VT_COUNTERS_MOST]; /* the kernel's ids of the descriptors */
    uint64_t next; /* row of the next reading of a replay */
};

/* find: looks up a name, which need not end with 0; fills all members of *found except provider, reading and name;
   returns 0 for an unknown name. NULL: the names are those of list.
   open: opens n counters for the calling thread; NULL: not needed. Returns 0, or -errno for counters[*failed].
   read: stores a value for each counter. Returns 0, or -errno. takes_locks: 1 if a signal handler must not call read.
   close: undoes open; NULL: not needed.
   reason: the reason why open or read has failed, in words; error: -errno; NULL: the words of vt_reason.
   list: fills *found and its name with the i-th counter that the machine may have; returns 0 if i is too large. NULL:
   the counters are listed elsewhere. */
struct vt_provider {
    int (*find)(const char *name, size_t length, struct vt_counter *found);
    long (*open)(const struct vt_counter *counters, unsigned n, struct vt_provider_state *state, unsigned *failed);
    long (*read)(const struct vt_counter *counters, unsigned n, struct vt_provider_state *state, uint64_t *values);
    void (*close)(struct vt_provider_state *state);
    const char *(*reason)(long error);
    int (*list)(unsigned i, struct vt_counter *found);
    int takes_locks;
};

#pragma GCC visibility push(hidden)

extern const struct vt_provider vt_perf_counters, vt_usage_counters, vt_kernel_counters, vt_malloc_counters,
    vt_replay_counters;

#pragma GCC visibility pop

#pragma GCC visibility push(default)

/* Lists the counters with names, besides those of vt_perf_list, for `vtrace counters`, a line each with fields
   separated by tabs: name, unit, meaning, and why this thread cannot read the counter, empty if it can. Returns the
   length. */
size_t vt_counters_list(char *into, size_t bytes);

/* For `vtrace run --repeat-groups`: lists the names in VT_METRICS that this thread can count, but not together with the
   preceding names, a line each. Returns the length. */
size_t vt_counters_left_out(char *into, size_t bytes);

#pragma GCC visibility pop

#endif
