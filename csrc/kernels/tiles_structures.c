/* SPDX-License-Identifier: BSD-3-Clause */
/* The schema of the structures of tiles.h, bundles.h and bands.h, see ../otf2_writer/schema.h. */
#include "../otf2_writer/schema.h"
#include "bands.h"
#include "tiles.h"

/* clang-format off */
#define TILE(F, S) F(S, offset) F(S, bytes) F(S, level) F(S, number)
#define PART(F, S) F(S, text) F(S, bytes) F(S, row) F(S, place) F(S, part) F(S, shift)
#define ROWS(F, S)                                                                                                     \
    F(S, columns) F(S, nregions) F(S, waits) F(S, whole) F(S, candidates) F(S, region) F(S, events) F(S, share)        \
    F(S, depth) F(S, classes) F(S, waited)
#define PYRAMID(F, S)                                                                                                  \
    F(S, nregions) F(S, nclasses) F(S, want_overview) F(S, level) F(S, bins) F(S, bytes) F(S, tiles) F(S, nbytes)      \
    F(S, ntiles) F(S, overview) F(S, shares) F(S, noverview) F(S, nshares)
#define BUNDLE(F, S) F(S, count) F(S, bytes) F(S, bin) F(S, comm) F(S, peer)
#define BUNDLES(F, S) F(S, level) F(S, end) F(S, list) F(S, count)
#define OPERATION(F, S) F(S, begin) F(S, end) F(S, sent) F(S, received) F(S, root) F(S, comm) F(S, op)
#define OPERATIONS(F, S) F(S, list) F(S, count)
#define BAND(F, S)                                                                                                     \
    F(S, comm) F(S, location) F(S, op) F(S, root) F(S, begin) F(S, last_begin) F(S, first_end) F(S, end)               \
    F(S, locations) F(S, sent) F(S, received)
#define STRUCTURES(X)                                                                                                  \
    X(vt_tile, TILE) X(vt_pyramid, PYRAMID) X(vt_bundle, BUNDLE) X(vt_bundles, BUNDLES) X(vt_operation, OPERATION)     \
    X(vt_operations, OPERATIONS) X(vt_band, BAND) X(vt_tile_part, PART) X(vt_tile_rows, ROWS)
/* clang-format on */

static const struct vt_schema_number numbers[] = {
#define COLUMN(name, number) {"vt_tile_column", #name, number},
    VT_TILE_COLUMNS(COLUMN)
#undef COLUMN
        {NULL, "TILE_BINS", VT_TILE_BINS},
    {NULL, "TILE_FAN", VT_TILE_FAN},
    {NULL, "TILES_DAMAGED", VT_TILES_DAMAGED},
};

VT_SCHEMA(vt_tiles_schema, STRUCTURES, numbers)
