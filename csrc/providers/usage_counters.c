/* SPDX-License-Identifier: BSD-3-Clause */
/* The resource usage of the thread, with the names of VampirTrace (VT_RUSAGE): getrusage(2), without the members that
   Linux does not set. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include "provider.h"

#define MEMBER(name) offsetof(struct rusage, name)
static const struct {
    const char *name, *unit, *meaning;
    size_t offset;
    char mode;
} members[] = {
    {"ru_utime", "us", "CPU time of the thread in the program's code", MEMBER(ru_utime), 'a'},
    {"ru_stime", "us", "CPU time of the thread in the kernel", MEMBER(ru_stime), 'a'},
    {"ru_maxrss", "KiB", "largest resident memory of the process so far", MEMBER(ru_maxrss), 'p'},
    {"ru_minflt", "#", "page faults without reading from a disk", MEMBER(ru_minflt), 'a'},
    {"ru_majflt", "#", "page faults that read from a disk", MEMBER(ru_majflt), 'a'},
    {"ru_inblock", "#", "blocks of 512 bytes read from disks", MEMBER(ru_inblock), 'a'},
    {"ru_oublock", "#", "blocks of 512 bytes written to disks", MEMBER(ru_oublock), 'a'},
    {"ru_nvcsw", "#", "switches to another thread because this thread waited", MEMBER(ru_nvcsw), 'a'},
    {"ru_nivcsw", "#", "switches to another thread by the kernel", MEMBER(ru_nivcsw), 'a'},
};
#define MEMBERS (sizeof members / sizeof *members)
#define LAST_TIME 1 /* the members up to here are CPU times */

static int list(unsigned i, struct vt_counter *found)
{
    if (i >= MEMBERS) return 0;
    return vt_counter_fill(found, i, members[i].name, members[i].unit, members[i].meaning, members[i].mode,
                           VT_SCOPE_THREAD);
}

static long read_all(const struct vt_counter *counters, unsigned n, struct vt_provider_state *s, uint64_t *values)
{
    struct rusage usage;
    struct timespec unused;
    (void)s;
    /* The kernel's sums of CPU time are those of the last tick. Reading the clock of the CPU time brings them up to
       date. */
    for (unsigned i = 0; i < n; i++)
        if (counters[i].number <= LAST_TIME) {
            VT_SYS2(clock_gettime, CLOCK_THREAD_CPUTIME_ID, &unused);
            break;
        }
    long r = VT_SYS2(getrusage, RUSAGE_THREAD, &usage);
    for (unsigned i = 0; r >= 0 && i < n; i++) {
        size_t offset = members[counters[i].number].offset;
        const char *at = (const char *)&usage + offset;
        if (counters[i].number <= LAST_TIME) {
            struct timeval time;
            memcpy(&time, at, sizeof time);
            values[i] = (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
        } else memcpy(&values[i], at, sizeof values[i]);
    }
    return r < 0 ? r : 0;
}

const struct vt_provider vt_usage_counters = {.read = read_all, .list = list};
