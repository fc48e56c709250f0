/* SPDX-License-Identifier: BSD-3-Clause */
/* Names that are like a name that is not there. */
#ifndef VT_NEAR_NAMES_H
#define VT_NEAR_NAMES_H

#include <stddef.h>
#include "../core/text.h"

#define VT_NEAR_NAMES 3
#define VT_NEAR_BYTES 128

/* The nearest names so far. */
struct vt_near {
    const char *wanted;
    size_t length;
    unsigned count, distance; /* all names have this distance */
    char names[VT_NEAR_NAMES][VT_NEAR_BYTES];
};

#pragma GCC visibility push(hidden)

/* Begins a search. wanted need not end with 0, and must last. */
void vt_near_begin(struct vt_near *n, const char *wanted, size_t length);
/* Adds a name if no name so far is nearer. */
void vt_near_add(struct vt_near *n, const char *name);
/* Appends the nearest names with `or` between them. Returns their number: 0 if none is like the wanted name. */
unsigned vt_near_show(const struct vt_near *n, struct vt_text *t);

#pragma GCC visibility pop

#endif
