/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of the bins of several locations at one level, for the rows of processes, nodes and of the whole trace. The sums
   are exact and do not depend on the order of the locations. Only regions that a location keeps in a bin count. */
#ifndef VT_GROUPS_H
#define VT_GROUPS_H

#include "tiles.h"

struct vt_group;

/* Makes a group whose bins have the level that vt_tiles_begin sets for 0 events and this end. NULL without memory. */
VT_EXPORT struct vt_group *vt_group_new(const struct vt_pyramid *p, int64_t end);
VT_EXPORT void vt_group_free(struct vt_group *g);
/* Adds a location after vt_tiles_end, with want_overview set. Returns VT_READ_OK or VT_READ_NO_MEMORY. */
VT_EXPORT int vt_group_add(struct vt_group *g, const struct vt_pyramid *p);
VT_EXPORT int vt_group_join(struct vt_group *g, const struct vt_group *other);
/* Builds the pyramid of a group. Returns VT_READ_OK or VT_READ_NO_MEMORY. */
VT_EXPORT int vt_group_tiles(const struct vt_group *g, struct vt_pyramid *p);

#endif
