/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of counters at the enters and leaves of regions (VT_METRICS). This file knows at which records values are
   written; csrc/providers/counters.c reads the values. */
#ifndef VT_COUNTER_GROUPS_H
#define VT_COUNTER_GROUPS_H

#include "location.h"

#define VT_GROUP_MOST 7u /* counters of a group: payload words of METRIC_GROUP */
#define VT_GROUPS_MOST 7u /* groups of a process */
#define VT_GROUP_WORDS (VT_GROUPS_MOST * (VT_GROUP_MOST + 1)) /* words of the records of all groups */

#pragma GCC visibility push(hidden)

/* Reads the counters of the calling thread into METRIC_GROUP records. Returns their words; 0: there is no value. Call
   this function with the location's busy word clear: a handler may record meanwhile. in_handler 1: omits counters whose
   reading takes a lock. */
typedef unsigned vt_read_counters(struct vt_location *l, int in_handler, uint64_t words[VT_GROUP_WORDS]);

/* Begins to write groups. where: the value of VT_METRICS_AT. Returns the length of its first unknown word, which begins
   at *wrong; 0: all are known. Regions that were defined before have no values. */
size_t vt_groups_start(vt_read_counters *read, const char *where, const char **wrong);
/* Notes whether values are read at the calls of a new region. paradigm, role: as in OTF2. */
void vt_groups_region(uint32_t id, uint8_t paradigm, uint8_t role);
/* Returns the VT_K_ENTER or VT_K_LEAVE of a region at which values are read, if there is such a record; else 0. The
   start of a section counts as VT_K_ENTER, its end as VT_K_LEAVE. */
enum vt_kind vt_groups_want(const uint64_t *words, unsigned n);
/* Writes records with the values of the counters before them. l: result of vt_location_to_record. kind: result of
   vt_groups_want. */
void vt_groups_write(struct vt_location *l, enum vt_kind kind, const uint64_t *words, unsigned n);
/* Reads the values for a sample, in the handler of the sampling signal. Returns their words; 0: the sample has none. */
unsigned vt_groups_sample(struct vt_location *l, uint64_t words[VT_GROUP_WORDS]);

#pragma GCC visibility pop

#endif
