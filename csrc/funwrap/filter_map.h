/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that a filter keeps out, of each module with hooks. */
#ifndef VT_FILTER_MAP_H
#define VT_FILTER_MAP_H

#include <stdatomic.h>
#include <stdint.h>
#include "../core/core.h"
#include "../core/recording_window.h"

enum { /* behind those of enum vt_how; VT_WATCHED_START and _STOP come behind these */
       VT_LIMITED = 2,
       VT_SHARED = 3, /* vt_filter_map_shared tells */
};
enum vt_function_rules { VT_RULES_FILTER = 1, VT_RULES_DEPTH = 2 };

#define VT_FILTER_MAPS 256u

struct vt_filter_map {
    struct vt_inside code; /* a module's; start stays when it is to be read anew, bytes do not */
    int32_t *left; /* calls that are still recorded, of functions with a limit */
};

extern struct vt_filter_map vt_filter_maps[VT_FILTER_MAPS] __attribute__((visibility("hidden")));
extern _Atomic uint32_t vt_filter_maps_known __attribute__((visibility("hidden")));
extern uint32_t vt_function_rules __attribute__((visibility("hidden"))); /* bits; 0: every function is recorded */
extern int vt_filter_map_prepared __attribute__((visibility("hidden"))); /* vt_function_rules is what it will be */

#pragma GCC visibility push(hidden)
uint8_t vt_filter_map_learn(uintptr_t function); /* of a module that is not known yet */
struct vt_filter_map *vt_filter_map_of(uintptr_t code); /* the same for the module; NULL: not now */
uint8_t vt_filter_map_shared(uintptr_t function);
int vt_filter_map_take(uintptr_t function);
int vt_levels_pass(uintptr_t function, int leaves, uint8_t how);
int vt_passes_else(uintptr_t function, int leaves); /* of another module */
void vt_hook_enter(void *function, void *site); /* funwrap.c: what rules say is asked; it is not */
void vt_hook_exit(void *function, void *site);
void vt_record_enter(void *function, void *site);
void vt_record_exit(void *function, void *site);
#pragma GCC visibility pop

static inline struct vt_filter_map *vt_filter_map_find(uintptr_t function)
{
    uint32_t n = atomic_load_explicit(&vt_filter_maps_known, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++)
        if (function - vt_filter_maps[i].code.start < VT_READ(vt_filter_maps[i].code.bytes)) return &vt_filter_maps[i];
    return NULL;
}

/* 1: the event of a function is recorded. Only where vt_function_rules is set. Mostly it is of the executable or of the first
   library with hooks, which are looked at without a call. */
static inline __attribute__((always_inline)) int vt_passes(uintptr_t function, int leaves)
{
    uintptr_t first = function - vt_filter_maps[0].code.start, second = function - vt_filter_maps[1].code.start;
    uint8_t how;
    if (VT_LIKELY(first < VT_READ(vt_filter_maps[0].code.bytes))) how = vt_filter_maps[0].code.map[first >> 4];
    else if (second < VT_READ(vt_filter_maps[1].code.bytes)) how = vt_filter_maps[1].code.map[second >> 4];
    else return vt_passes_else(function, leaves);
    if (how == VT_FILTERED) return 0;
    if (how == VT_SHOWN && VT_LIKELY(!(vt_function_rules & VT_RULES_DEPTH))) return 1;
    return vt_levels_pass(function, leaves, how);
}

#endif
