/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds names similar to an unknown name. */
#ifndef VT_NEAR_NAMES_H
#define VT_NEAR_NAMES_H

#include <stddef.h>
#include "../core/text.h"

#define VT_NEAR_NAMES 3

/* The nearest names so far. */
struct vt_near {
    const char *wanted;
    size_t length;
    unsigned count, distance; /* all names have this distance */
    char names[VT_NEAR_NAMES][VT_TEXT_NAME];
};

#pragma GCC visibility push(hidden)

/* Begins a search. wanted need not end with 0, and must last. */
void vt_near_begin(struct vt_near *n, const char *wanted, size_t length);
/* Adds a name if no name so far is nearer. */
void vt_near_add(struct vt_near *n, const char *name);
/* Writes that `what` is unknown, with the nearest names: "unknown event, did you mean A or B? (...)". Returns into. */
const char *vt_near_tell(const struct vt_near *n, const char *what, char *into, size_t bytes);

#pragma GCC visibility pop

#endif
