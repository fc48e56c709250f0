/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of the bins of several locations at one level, for the rows of processes, nodes and of the whole trace. The sums
   are exact and do not depend on the order of the locations; regions are those that the locations keep. */
#ifndef VT_GROUPS_H
#define VT_GROUPS_H

#include "tiles.h"

struct vt_group;

/* Bins of the level of vt_tiles_begin with 0 events and this end. Returns NULL without memory. */
VT_EXPORT struct vt_group *vt_group_new(const struct vt_pyramid *p, int64_t end);
VT_EXPORT void vt_group_free(struct vt_group *g);
/* Adds a location that has ended, with want_overview. Returns VT_READ_OK or VT_READ_NO_MEMORY, like all others. */
VT_EXPORT int vt_group_add(struct vt_group *g, const struct vt_pyramid *p);
VT_EXPORT int vt_group_join(struct vt_group *g, const struct vt_group *other);
/* Makes the pyramid of a group. */
VT_EXPORT int vt_group_tiles(const struct vt_group *g, struct vt_pyramid *p);

#endif
