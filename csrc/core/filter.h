/* SPDX-License-Identifier: BSD-3-Clause */
/* The filter rules of VT_FILTER_SPEC, which exclude functions and calls from the trace. funwrap/filter_map.c applies
   the rules to functions. */
#ifndef VT_FILTER_H
#define VT_FILTER_H

#include <stdint.h>
#include "core.h"

#define VT_NAMES_MOST 4
#define VT_NAME_BYTES 4096u

/* The names by which a rule may match a function or call. NULL follows the last name. */
struct vt_names_of {
    const char *names[VT_NAMES_MOST];
    const char *mangled, *group; /* mangled name; group such as "MPI" */
};

#pragma GCC visibility push(hidden)

/* Returns the number of calls that the rules admit; -1: all. */
int64_t vt_filter_limit(const struct vt_names_of *f);
/* 1: the name matches a pattern with * and ?. classes 1: the pattern may also have [...] and \. The time is at most
   proportional to the product of both lengths. */
int vt_pattern_matches(const char *pattern, const char *name, int classes);
/* Adds the name of a C++ function without its arguments to f, in the memory `into`. f->names[0]: the full name. */
void vt_names_shorten(struct vt_names_of *f, char *into, size_t bytes);
/* Reads the rules at the first call. Returns 1 if there are rules. */
int vt_filter_load(void);
/* Sets the rank of the process: rules may apply to some ranks only. */
void vt_filter_rank(uint32_t rank);
/* Registers a function that vt_filter_rank calls if other rules apply to the new rank. */
void vt_filter_on_change(void (*call)(void));

#pragma GCC visibility pop

#endif
