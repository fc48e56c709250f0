/* SPDX-License-Identifier: BSD-3-Clause */
/* The folder funwrap records user functions.
   - Hooks of -finstrument-functions: funwrap.c; program_hooks.c passes the rules to csrc/hooks.
   - Sleds: sleds.c has the modules, sled_hooks_*.c and sled_steady.c the hooks, sled_code_*.c the instructions,
     sled_return.c returns without sleds, core/frames.c the open calls, landing.c their ends by longjmp and exceptions;
     patch.c finds and switches sleds, xray.c those of clang, foreign.c those of programs compiled without vtrace-cc.
   - Both: filter_map.c has the rules of each module, shared_slots.c those of close neighbours, levels.c the stack of
     recorded functions.

   filter_map.c owns vt_filter_maps and all variables declared here. In this folder these rules always hold:
   - vt_function_rules is 0 if every function is recorded. The hooks then read no rule.
   - An entry of vt_filter_maps is valid if its bytes are not 0. Load bytes (acquire) before the other members.
   - A signal handler never reads a module, since the demangler allocates. Until the module is read, its functions are
     recorded.
   - The library is never unloaded, and a map stays valid after its module is unloaded. */
#ifndef VT_FILTER_MAP_H
#define VT_FILTER_MAP_H

#include <stdatomic.h>
#include <stdint.h>
#include "../core/core.h"
#include "../core/recording_window.h"

enum { /* more values of enum vt_how; those of recording_window.h follow */
       VT_LIMITED = 2,
       VT_SHARED = 3, /* vt_filter_map_shared returns the rule of the function */
};
enum vt_function_rules { VT_RULES_FILTER = 1, VT_RULES_DEPTH = 2 };

#define VT_FILTER_MAPS 256u

struct vt_filter_map {
    struct vt_inside code; /* code of a module; if the module must be read again, start stays and bytes becomes 0 */
    int32_t *left; /* for each byte of the map, 1 + number of calls still to be recorded; 0: never had a limit */
    struct vt_sleds *sleds; /* while the module is read, also the next member */
    int asks; /* 1: the sleds of a function that is not recorded may be on, or a rule needs to see the events */
};

/* The modules; vt_filter_maps_known is the number of entries in use. */
extern struct vt_filter_map vt_filter_maps[VT_FILTER_MAPS] __attribute__((visibility("hidden")));
extern _Atomic uint32_t vt_filter_maps_known __attribute__((visibility("hidden")));
/* Bits of enum vt_function_rules; 0: every function is recorded. */
extern uint32_t vt_function_rules __attribute__((visibility("hidden")));
/* 1: vt_function_rules has its final value. */
extern int vt_filter_map_prepared __attribute__((visibility("hidden")));

#pragma GCC visibility push(hidden)
/* Reads the module of a function, if possible now. Returns the rule of the function (enum vt_how and the values
   above). */
uint8_t vt_filter_map_learn(uintptr_t function);
/* Returns the entry of the module whose code contains the address, and reads the module if necessary; NULL: not
   possible now. */
struct vt_filter_map *vt_filter_map_of(uintptr_t code);
/* Reads the module that contains the address, again if it was read before. Returns 0 in a signal handler. */
int vt_filter_map_read(uintptr_t code);
/* Replaces the patterns of VT_FUNCTIONS, and applies the new ones to all modules. */
void vt_filter_map_select(const char *patterns);
/* Returns the rule of a function whose byte is VT_SHARED. */
uint8_t vt_filter_map_shared(uintptr_t function);
/* Returns 1 if one more call of a function with a limit is recorded. */
int vt_filter_map_take(uintptr_t function);
/* Returns 1 if the event is recorded; updates the stack of the calling thread. how: rule of the function. */
int vt_levels_pass(uintptr_t function, int leaves, uint8_t how);
/* Like vt_passes, for functions outside the first two modules. */
int vt_passes_else(uintptr_t function, int leaves);
/* The hooks: vt_hook_* apply the rules, vt_record_* do not. site: address of the call, not used. */
void vt_hook_enter(void *function, void *site);
void vt_hook_exit(void *function, void *site);
void vt_record_enter(void *function, void *site);
void vt_record_exit(void *function, void *site);
#pragma GCC visibility pop

/* Returns the entry of the module that contains the function; NULL: not read yet. */
static inline VT_GENERAL_REGISTERS struct vt_filter_map *vt_filter_map_find(uintptr_t function)
{
    uint32_t n = atomic_load_explicit(&vt_filter_maps_known, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++) {
        /* acquire: another module may have taken the entry of an unloaded one */
        uintptr_t bytes = __atomic_load_n(&vt_filter_maps[i].code.bytes, __ATOMIC_ACQUIRE);
        if (function - vt_filter_maps[i].code.start < bytes) return &vt_filter_maps[i];
    }
    return NULL;
}

/* Returns 1 if the event of a function is recorded. Call this function only if vt_function_rules is not 0. Most
   functions belong to the executable or to the first library with hooks: their maps are read without a call. */
static inline __attribute__((always_inline)) int vt_passes(uintptr_t function, int leaves)
{
    const struct vt_filter_map *m = vt_filter_maps;
    uint8_t how;
    uintptr_t bytes = __atomic_load_n(&m[0].code.bytes, __ATOMIC_ACQUIRE), at = function - m[0].code.start;
    if (VT_LIKELY(at < bytes)) how = m[0].code.map[at >> 4];
    else {
        bytes = __atomic_load_n(&m[1].code.bytes, __ATOMIC_ACQUIRE);
        at = function - m[1].code.start;
        if (at >= bytes) return vt_passes_else(function, leaves);
        how = m[1].code.map[at >> 4];
    }
    if (how == VT_FILTERED) return 0;
    if (how == VT_SHOWN && VT_LIKELY(!(vt_function_rules & VT_RULES_DEPTH))) return 1;
    return vt_levels_pass(function, leaves, how);
}

#endif
