/* SPDX-License-Identifier: BSD-3-Clause */
/* Launchers of ranks and their helpers. */
#ifndef VT_LAUNCHER_H
#define VT_LAUNCHER_H

#include "state.h"

struct vt_process_look {
    uint64_t began; /* clock ticks since boot */
    uint32_t parent;
    char name[32], state; /* as in proc(5) */
};

struct vt_launched {
    const char *launcher;
    uint32_t rank, ranks;
};

#pragma GCC visibility push(hidden)

int vt_is_launcher(void);
int vt_process_look(uint32_t pid, struct vt_process_look *look); /* 0: it is not there */
/* Sets the run's id to that of all that the launcher starts on this host, if one has started this process. */
void vt_launcher_run(struct vt_file *h);
/* 1: a launcher has started this process as one of several ranks. */
int vt_launcher_look(struct vt_launched *launched);

#pragma GCC visibility pop

#endif
