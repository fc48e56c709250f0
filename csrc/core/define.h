/* SPDX-License-Identifier: BSD-3-Clause */
/* Definitions that a location writes. */
#ifndef VT_DEFINE_H
#define VT_DEFINE_H

#include "core.h"
#include "location.h"

#pragma GCC visibility push(hidden)

/* As vt_define_values and vt_define, on a location. */
int vt_define_values_at(struct vt_location *l, const struct vt_definition_value *values, size_t n);
#define vt_define_at(l, kind, ...) vt_define_values_at(l, VT_DEFINITION(kind, __VA_ARGS__), 1 + VT_COUNT(__VA_ARGS__))
/* Appends the current chunk of definitions to the list of full chunks. The caller holds the lock. */
void vt_defs_finish(struct vt_location *l);
/* Defines a property of the run. */
void vt_define_property(struct vt_location *l, const char *key, const char *value);
/* Defines the property "WHAT.NUMBER": from now on the location has no samples ("unsampled") or counters ("uncounted").
   why: for unify/account/ledger_intervals.py. */
void vt_define_missing(struct vt_location *l, const char *what, const char *why);
/* Defines the values of all settings as properties. */
void vt_define_settings(struct vt_location *l);
/* Defines the effective value of VT_MAX_SIZE in bytes. by_disk 1: the value follows from the free space. */
void vt_define_size(struct vt_location *l, uint64_t bytes, int by_disk);
/* Reads all clocks now and defines the times. */
void vt_define_clock(struct vt_location *l);

#pragma GCC visibility pop

#endif
