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

#include <string.h>
#include "perf_events.h"

#pragma GCC visibility push(hidden)

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

/* Fills all members of a counter that a provider fills, but event. Returns 1. */
static inline int vt_counter_fill(struct vt_counter *c, uint32_t number, const char *name, const char *unit,
                                  const char *meaning, char mode, enum vt_counter_scope scope)
{
    c->number = number;
    c->unit = unit;
    c->meaning = meaning;
    c->mode = mode;
    c->scope = scope;
    if (name != c->name) memcpy(c->name, name, strlen(name) + 1);
    return 1;
}

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

extern const struct vt_provider vt_perf_counters, vt_usage_counters, vt_kernel_counters, vt_malloc_counters,
    vt_replay_counters;

#pragma GCC visibility push(default)

/* Lists the counters with names, besides those of vt_perf_list, for `vtrace counters`, a line each with fields
   separated by tabs: name, unit, meaning, and why this thread cannot read the counter, empty if it can. Returns the
   length. */
size_t vt_counters_list(char *into, size_t bytes);

/* For `vtrace run --repeat-groups`: lists the names in VT_METRICS that this thread can count, but not together with the
   preceding names, a line each. Returns the length. */
size_t vt_counters_left_out(char *into, size_t bytes);

#pragma GCC visibility pop

/* ---- kernel_counters.c: counters from files of the kernel ---- */

/* The root of sysfs, for tests. */
extern const char *vt_sysfs;

/* ---- host_properties.c: properties of the host that formulas of derived events need ---- */

struct vt_location;

/* Defines the properties "cpu_max_mhz", the maximum clock rate of the processor in MHz, and "pmus", the names of the
   performance monitoring units: the kernel's, and libpfm4's if that is loaded, separated by blanks. */
void vt_define_host(struct vt_location *l);

/* ---- kernel_pmus.c: reads the names in a directory, without allocating memory ---- */

typedef void vt_directory_visit(const char *name, void *data);

/* Calls visit for each name in a directory but . and .. in the kernel's order; for none if the directory cannot be
   read. */
void vt_directory_each(const char *path, vt_directory_visit *visit, void *data);

/* The events of the kernel's PMUs (performance monitoring units), by perf's names: PMU/event/ and
   PMU/event=0x3c,umask=0x1/. Each PMU is a directory with the files type, format/TERM and events/EVENT
   (Documentation/ABI/testing/sysfs-bus-event_source-devices-*). */

#define VT_PMU_ROOT "/sys/bus/event_source/devices"
#define VT_PMU_NAME_BYTES 256

/* Receives an event. name: PMU/event/; terms: its definition by the kernel. */
typedef void vt_pmu_visit(const char *name, const char *terms, const struct vt_perf_event *event, void *data);

/* Finds an event of a PMU. root: directory of the PMUs; name need not end with 0. Returns 0 for an unknown name, an
   unknown term or a value that has too many bits for its term. */
int vt_pmu_find(const char *root, const char *name, size_t length, struct vt_perf_event *found);
/* Calls visit for each event that has a file of its own and needs no other terms. */
void vt_pmu_each(const char *root, vt_pmu_visit *visit, void *data);
/* Appends the name of each PMU and a blank. */
void vt_pmu_names(const char *root, struct vt_text *into);

/* ---- pfm_names.c ---- */

/* The events of processors by libpfm4's names: INST_RETIRED:ANY_P, perf::PAGE-FAULTS. Where libpfm4 is not installed, its
   names are unknown. These functions load a library: they must not run in a signal handler. */

/* Finds an event. name need not end with 0. Returns 0 for an unknown name. */
int vt_pfm_find(const char *name, size_t length, struct vt_perf_event *found);
/* Calls visit for the name of each event of the PMUs of this machine: PMU::EVENT. */
void vt_pfm_each(void (*visit)(const char *name, void *data), void *data);
/* Appends the name of each PMU of this machine and a blank; nothing if libpfm4 is not loaded yet. */
void vt_pfm_names(struct vt_text *into);

#pragma GCC visibility pop

#endif
