/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules of functions that are recorded by addresses within the same 16 bytes, while these bytes have one rule in the map
   of a module. A hash table by address; entries are added and changed under the lock of filter_map.c, and never
   removed. */
#ifndef VT_SHARED_SLOTS_H
#define VT_SHARED_SLOTS_H

#include <stdint.h>

struct vt_slot_rule {
    uint8_t how;
    int32_t left; /* as in struct vt_filter_map */
    uint32_t reading; /* number of the reading of the module: a later one replaces the rule */
    uint64_t order; /* of several names at one address, the name of the lowest order has the rule */
};

#pragma GCC visibility push(hidden)
/* Enters the rule of a function. Returns 0 if there is no memory. */
int vt_slot_set(uintptr_t function, const struct vt_slot_rule *rule);
/* Returns the rule of a function; NULL: none. */
struct vt_slot_rule *vt_slot_find(uintptr_t function);
#pragma GCC visibility pop

#endif
