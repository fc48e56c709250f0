/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules that leave functions and calls out of the trace: VT_FILTER_SPEC. funwrap/filter_map.c applies them to functions. */
#ifndef VT_FILTER_H
#define VT_FILTER_H

#include <stdint.h>
#include "core.h"

#define VT_NAMES_MOST 4
#define VT_NAME_BYTES 4096u

/* A function or call as rules may name it: the names that a reader may know it by, NULL behind the last. */
struct vt_names_of {
    const char *names[VT_NAMES_MOST];
    const char *mangled, *group;
};

#pragma GCC visibility push(hidden)

int64_t vt_filter_limit(const struct vt_names_of *f); /* calls that are recorded, -1 all */
int vt_pattern_matches(const char *pattern, const char *name, int classes);
void vt_names_shorten(struct vt_names_of *f, char *into, size_t bytes);
int vt_filter_load(void);
void vt_filter_rank(uint32_t rank);
void vt_filter_on_change(void (*call)(void));

#pragma GCC visibility pop

#endif
