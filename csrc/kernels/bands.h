/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations as bands, from the first arrival to the last departure of their locations, for
   timeline/bands.py. The n-th operation of a location on a communicator is the n-th one there. */
#ifndef VT_BANDS_H
#define VT_BANDS_H

#include "../otf2_reader/stack_replay.h"

/* An operation of a location. Times in ns; begin: equals end if the start is unknown. */
struct vt_operation {
    int64_t begin, end;
    uint64_t sent, received, root; /* sent, received: bytes, 0 if unknown */
    uint32_t comm, op; /* comm: as in the events */
};

/* The operations of a location that have ended. */
struct vt_operations {
    struct vt_operation *list;
    uint64_t count;
};

struct vt_band {
    int64_t comm, location; /* comm: row; location: for a communicator of one process, else -1 */
    int64_t op, root; /* root -1: none */
    int64_t begin, last_begin, first_end, end;
    uint64_t locations, sent, received;
};

VT_EXPORT struct vt_operations *vt_operations_new(void);
VT_EXPORT void vt_operations_free(struct vt_operations *o);
/* Adds the operations that end in a batch. Returns VT_READ_OK or VT_READ_NO_MEMORY. */
VT_EXPORT int vt_operations_batch(struct vt_operations *o, const struct vt_batch *batch);
/* Forgets the location. */
VT_EXPORT void vt_operations_clear(struct vt_operations *o);

/* The bands of all locations. */
struct vt_bands;
/* alone: an array of ncomms flags, 1 for a communicator with one process. */
VT_EXPORT struct vt_bands *vt_bands_new(const uint8_t *alone, uint64_t ncomms);
VT_EXPORT void vt_bands_free(struct vt_bands *b);
/* Adds the operations of a location and sorts them. Their comm is a row; others are one unknown communicator.
   Returns VT_READ_OK or VT_READ_NO_MEMORY. */
VT_EXPORT int vt_bands_add(struct vt_bands *b, struct vt_operations *o, uint32_t location);
/* The number of bands. */
VT_EXPORT uint64_t vt_bands_count(const struct vt_bands *b);
/* Copies all bands, those of a communicator and location in their order. */
VT_EXPORT void vt_bands_copy(const struct vt_bands *b, struct vt_band *to);

/* ---- bundles.c ---- */

/* The sends of a location, summed by bin of time, communicator and receiver, for timeline/bundles.py. */
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
