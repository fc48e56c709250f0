/* SPDX-License-Identifier: BSD-3-Clause */
/* The sends of a location, summed by bin of time, communicator and receiver, for timeline/bundles.py. */
#ifndef VT_BUNDLES_H
#define VT_BUNDLES_H

#include "../otf2_reader/stack_replay.h"

/* The sends of a bin to one receiver. comm and peer: as in the events. */
struct vt_bundle {
    uint64_t count, bytes, bin; /* bytes: the sum of the known sizes */
    uint32_t comm, peer;
};

struct vt_bundles {
    uint64_t level; /* a bin is 2^level ns wide */
    int64_t end; /* the bin of this time also has all later sends, the first bin all sends before 0 */
    struct vt_bundle *list;
    uint64_t count;
};

VT_EXPORT struct vt_bundles *vt_bundles_new(uint64_t level, int64_t end);
VT_EXPORT void vt_bundles_free(struct vt_bundles *b);
/* Adds the sends of a batch. Returns VT_READ_OK or VT_READ_NO_MEMORY. */
VT_EXPORT int vt_bundles_batch(struct vt_bundles *b, const struct vt_batch *batch);
/* Forgets all sends: the caller has copied the list. */
VT_EXPORT void vt_bundles_clear(struct vt_bundles *b);

#endif
