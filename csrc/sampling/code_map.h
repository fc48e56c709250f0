/* SPDX-License-Identifier: BSD-3-Clause */
/* The executable code of the process: ranges of addresses with their unwind rules and their offsets in the code space.
   A map never changes after it is published. code_map.c owns the current map. */
#ifndef VT_CODE_MAP_H
#define VT_CODE_MAP_H

#include <stdatomic.h>
#include "unwind_rules.h"

/* The code of one module (of one of its segments). */
struct vt_code_range {
    uintptr_t begin;
    uint32_t bytes;
    uint32_t slot; /* offset in the code space; VT_CODE_UNKNOWN: none */
    int own; /* 1: of a library of vtrace */
    struct vt_unwind_source source; /* header NULL: the module has no rules */
};

struct vt_code_map {
    uint32_t generation, count, room;
    struct vt_code_range ranges[]; /* ascending */
};

#pragma GCC visibility push(hidden)

/* Returns the current map for a signal handler, which must call vt_code_map_leave; NULL: none is made yet. */
const struct vt_code_map *vt_code_map_enter(void);
void vt_code_map_leave(void);
/* Makes the first map. Must not run in a signal handler. */
void vt_code_map_start(void);
/* Adds the module of code that the signal handler has interrupted, which the program has loaded since. Needs glibc 2.35;
   before, such code stays unknown until a dlclose. */
void vt_code_map_extend(uintptr_t code);
/* Around a fork: the child must not get a map that is being made. */
void vt_code_map_before_fork(void);
void vt_code_map_after_fork(int in_child);

#pragma GCC visibility pop

/* Returns the range that holds an address; NULL: none. */
static inline const struct vt_code_range *vt_code_range_of(const struct vt_code_map *map, uintptr_t address)
{
    uint32_t low = 0, high = map->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (map->ranges[middle].begin <= address) low = middle + 1;
        else high = middle;
    }
    return low && address - map->ranges[low - 1].begin < map->ranges[low - 1].bytes ? &map->ranges[low - 1] : NULL;
}

#endif
