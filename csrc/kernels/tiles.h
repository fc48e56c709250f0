/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of the analysis and the timeline: tiles.c sums a location's times, tile_rows.c joins tiles of
   several locations for a picture, groups.c the bins of several
   locations, bundles.c a location's sends; bands.c joins collective operations, window_rows.c collects the calls of a
   window, matcher.c finds the waits of MPI calls (replayed.h lists the files of the replay). This header, bands.h,
   window_rows.h, mpi_ends.h and matcher.h are the interface for Python (timeline/tiles.py,
   group_tiles.py, bundles.py, bands.py and window_events.py, io/archive/reader_abi.py); the files ..._structures.c
   describe their structures.

   The caller owns the batches and replays that a kernel reads, and frees each object of a kernel by its function
   ..._free. In this folder these rules always hold:
   - Several threads may call any function at once, but only one thread at a time uses a pyramid, a finder or a matcher.
     Nothing else is shared, so the kernels take no lock.
   - Ids and times in an archive may be any number: an id is checked before its use as an index.

   A location's pyramid of time bins, for timelines of any zoom. A bin of level n is 2^n ns wide and begins at a
   multiple of its width; a level has bins four times as wide as the level below. VT_TILE_BINS bins in a row are a tile,
   the unit that files store and pages fetch.

   For each bin the pyramid has exact values of the time in each class of regions, the number of events, the deepest
   stack of calls with time in the bin. When the pyramid joins four bins to one, each bin keeps only the VT_TILE_SLOTS
   regions with the most exclusive time. So the times of the two regions in a tile are lower bounds: a bin's `rest` has
   no region. */
#ifndef VT_TILES_H
#define VT_TILES_H

#include "../otf2_reader/stack_replay.h"

#define VT_TILE_BINS 256u
#define VT_TILE_FAN 2u /* bits: four bins of a level are one of the next */
#define VT_TILE_LEVELS 31u
#define VT_TILE_SLOTS 12u
#define VT_TILE_CLASSES 15u /* the largest number of classes */

/* The columns of a tile, in this order, each a width in bytes (0: all values are 0; 1, 2, 4, 8) in the tile's head and
   then its values, little endian. After these columns, one column for each class with its time in ns. */
#define VT_TILE_COLUMNS(X)                                                                                             \
    X(REGION, 0) /* 1 + the number of the region with the most exclusive time; 0: no region */                         \
    X(TIME, 1) /* ns in this region, at least */                                                                       \
    X(SECOND, 2)                                                                                                       \
    X(SECOND_TIME, 3) /* ns in the second region, at least */                                                          \
    X(REST, 4) /* ns without a region: no region has more than its own time plus this time */                          \
    X(EVENTS, 5) X(DEPTH, 6) X(FIRST_CLASS, 7)
enum vt_tile_column {
#define VT_TILE_NUMBER(name, number) VT_TILE_##name = number,
    VT_TILE_COLUMNS(VT_TILE_NUMBER)
#undef VT_TILE_NUMBER
};

/* A tile in the pyramid's bytes: two bytes with the number of bins, one with the number of columns, the widths of the
   columns, the columns. */
struct vt_tile {
    uint64_t offset, bytes;
    uint32_t level, number; /* number: of the tile in its level */
};

/* A tile of a location as a part of a wider tile, of a row of several locations. */
struct vt_tile_part {
    uint64_t text; /* address of its bytes */
    uint64_t bytes;
    uint64_t row; /* number of the row */
    uint64_t place; /* of the location's first candidate among those of its row */
    uint64_t part, shift; /* number of the tile among the 2^shift that are joined: so many of their bins become one */
};

/* Tiles of rows, [rows][VT_TILE_BINS]; classes and waited: [rows][classes][VT_TILE_BINS]. timeline/row_tiles.py
   describes the values. */
struct vt_tile_rows {
    uint64_t columns, nregions; /* columns: of the tiles of locations */
    const uint8_t *waits; /* by 1 + region: 1 + class of a region that waits, 0 of others */
    const double *whole; /* ns of a bin of each row */
    const uint64_t *candidates; /* of each row: for each location with a tile two for each bin that is joined */
    uint32_t *region, *events;
    uint8_t *share, *depth, *classes, *waited;
};

/* Sums of a bin over all regions. */
struct vt_bin_sums {
    uint64_t rest, events, depth, classes[VT_TILE_CLASSES]; /* classes: as many as the pyramid has */
};

/* The time of a region in a bin. */
struct vt_bin_share {
    uint32_t bin, region;
    uint64_t ns;
};

struct vt_pyramid {
    uint64_t nregions, nclasses;
    uint64_t want_overview;
    uint64_t level; /* the finest one, set by vt_tiles_begin */
    uint64_t bins; /* of the finest level */
    uint8_t *bytes; /* the tiles of this location so far, until vt_tiles_drop */
    struct vt_tile *tiles;
    uint64_t nbytes, ntiles;
    struct vt_bin_sums *overview; /* the bins at the finest level of a location with 0 events, for groups.h */
    struct vt_bin_share *shares; /* the shares in these bins, at most VT_TILE_SLOTS each */
    uint64_t noverview, nshares;
};

/* Writes the schema of these structures, as vt_kernel_schema does. */
VT_EXPORT size_t vt_tiles_schema(char *text, size_t room);
/* nclasses: at most VT_TILE_CLASSES. Returns NULL without memory or for more classes. */
VT_EXPORT struct vt_pyramid *vt_tiles_new(uint64_t nregions, uint64_t nclasses);
VT_EXPORT void vt_tiles_free(struct vt_pyramid *p);
/* Starts a location that lasts `end` ns: its finest level has about one bin for 64 events, at least 512 unless the time
   is shorter. */
VT_EXPORT void vt_tiles_begin(struct vt_pyramid *p, uint64_t events, int64_t end);
/* Adds the spans of a replay's batch, and the batch's events. Returns VT_READ_OK or VT_READ_NO_MEMORY. */
VT_EXPORT int vt_tiles_batch(struct vt_pyramid *p, const struct vt_replay *replay, const struct vt_batch *batch);
/* Ends the location: adds the replay's last spans, and completes all levels. Returns like vt_tiles_batch. */
VT_EXPORT int vt_tiles_end(struct vt_pyramid *p, const struct vt_replay *replay);
/* Adds all events of a location, which are in one batch, with the stack: in place of vt_replay_begin, _batch and _end and
   vt_tiles_begin, _batch and _end. Returns like vt_tiles_batch. */
VT_EXPORT int vt_tiles_whole(struct vt_pyramid *p, struct vt_replay *replay, struct vt_batch *batch, uint64_t events,
                             int64_t end);
/* Drops the first n tiles and their bytes, after the caller has copied them. */
VT_EXPORT void vt_tiles_drop(struct vt_pyramid *p, uint64_t n);
/* Reads a tile of `columns` columns into values [columns][VT_TILE_BINS]. Returns the number of bins, 0 for damage. */
VT_EXPORT uint64_t vt_tiles_unpack(const uint8_t *tile, uint64_t bytes, uint64_t columns, uint64_t *values);
enum { VT_TILES_OK, VT_TILES_DAMAGED, VT_TILES_NO_MEMORY };
/* Joins the tiles of locations, those of a row one after the other, to tiles of rows. Rows without tiles keep their
   values. */
VT_EXPORT int vt_tiles_rows(const struct vt_tile_part *parts, uint64_t n, const struct vt_tile_rows *to);
/* Returns the finest level of a location with this number of events that lasts `end` ns; limits end. */
VT_EXPORT uint64_t vt_tiles_level(uint64_t events, int64_t *end);
/* Adds the next finest bin of a row that is not a location. */
void vt_tiles_add_bin(struct vt_pyramid *p, const struct vt_bin_sums *sums, const struct vt_bin_share *shares,
                      uint64_t n);
int vt_tiles_failed(const struct vt_pyramid *p);

/* ---- groups.c ---- */

/* Sums of the bins of several locations at one level, for the rows of processes, nodes and of the whole trace. The sums
   are exact and do not depend on the order of the locations. Only regions that a location keeps in a bin count. */
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
