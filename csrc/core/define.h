/* SPDX-License-Identifier: BSD-3-Clause */
/* Definitions of a location. */
#ifndef VT_DEFINE_H
#define VT_DEFINE_H

#include "location.h"
#include "msgpack.h"

#pragma GCC visibility push(hidden)

struct vt_mp vt_define_begin(struct vt_location *l, size_t most);
int vt_define_end(struct vt_location *l, const struct vt_mp *m);
void vt_defs_finish(struct vt_location *l);
void vt_define_property(struct vt_location *l, const char *key, const char *value);
void vt_define_settings(struct vt_location *l);
/* The value that is used for VT_MAX_SIZE; by_disk: it follows from the free space. */
void vt_define_size(struct vt_location *l, uint64_t bytes, int by_disk);
void vt_define_clock(struct vt_location *l); /* the clocks, now */

#pragma GCC visibility pop

#endif
