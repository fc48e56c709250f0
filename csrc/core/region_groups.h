/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of functions (VT_GROUPS_SPEC). region_groups.c owns the text and the list of members. */
#ifndef VT_REGION_GROUPS_H
#define VT_REGION_GROUPS_H

#include "filter.h"
#include "location.h"

#pragma GCC visibility push(hidden)

/* Reads the file, once. Prints a message if the file cannot be read. */
void vt_groups_load(void);
/* Returns 1 if a group whose name matches the pattern contains the function. */
int vt_groups_hold(const char *group, const struct vt_names_of *f);
/* Defines the property "groups" in a location. */
void vt_groups_define(struct vt_location *l);

#pragma GCC visibility pop

#endif
