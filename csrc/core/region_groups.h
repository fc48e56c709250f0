/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of functions: VT_GROUPS_SPEC. */
#ifndef VT_REGION_GROUPS_H
#define VT_REGION_GROUPS_H

#include "filter.h"
#include "location.h"

#pragma GCC visibility push(hidden)

void vt_groups_load(void);
int vt_groups_hold(const char *group, const struct vt_names_of *f);
void vt_groups_define(struct vt_location *l);

#pragma GCC visibility pop

#endif
