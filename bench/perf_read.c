/* SPDX-License-Identifier: BSD-3-Clause */
/* perf_read N: reads a group of N software events of Linux repeatedly; prints the ns per read of the best pass. */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const uint64_t events[] = {
    PERF_COUNT_SW_PAGE_FAULTS,      PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_COUNT_SW_PAGE_FAULTS_MAJ,
    PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS,  PERF_COUNT_SW_ALIGNMENT_FAULTS,
    PERF_COUNT_SW_EMULATION_FAULTS, PERF_COUNT_SW_TASK_CLOCK,
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 8, reads = 50000;
    uint64_t values[16];
    int leader = -1;
    double best = 1e9;
    for (int i = 0; i < n; i++) {
        struct perf_event_attr attributes;
        memset(&attributes, 0, sizeof attributes);
        attributes.size = sizeof attributes;
        attributes.type = PERF_TYPE_SOFTWARE;
        attributes.config = events[i];
        attributes.exclude_hv = 1;
        attributes.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        const int fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, leader, 0);
        if (fd < 0) return 1;
        if (leader < 0) leader = fd;
    }
    for (int pass = 0; pass < 5; pass++) {
        const double begin = now();
        for (int i = 0; i < reads; i++)
            if (read(leader, values, sizeof values) < 0) return 1;
        const double each = (now() - begin) / reads;
        if (each < best) best = each;
    }
    printf("%.1f\n", best);
    return 0;
}
