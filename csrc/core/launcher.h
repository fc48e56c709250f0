/* SPDX-License-Identifier: BSD-3-Clause */
/* Launchers of parallel programs and their helper processes. */
#ifndef VT_LAUNCHER_H
#define VT_LAUNCHER_H

#include "state.h"

/* A process, from /proc/PID/stat. */
struct vt_process_stat {
    uint64_t began; /* start time in clock ticks since boot */
    uint32_t parent;
    char name[32], state; /* comm and state of proc(5) */
};

/* The launcher of this process, and the rank and number of ranks that the launcher has set. */
struct vt_launched {
    const char *launcher;
    uint32_t rank, ranks;
};

#pragma GCC visibility push(hidden)

/* 1: this process is a launcher or its helper, not a rank. */
int vt_is_launcher(void);
/* Reads /proc/PID/stat. Returns 0 if there is no such process. */
int vt_process_stat(uint32_t pid, struct vt_process_stat *stat);
/* If a launcher has started this process, sets the run id that all processes of the launcher on this host share. */
void vt_launcher_run(struct vt_file *h);
/* Returns 1 if a launcher has started this process as one of several ranks. */
int vt_find_launcher(struct vt_launched *launched);

#pragma GCC visibility pop

#endif
