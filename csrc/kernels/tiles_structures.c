/* SPDX-License-Identifier: BSD-3-Clause */
/* The schema of the structures of tiles.h, see ../otf2_writer/schema.h. */
#include "../otf2_writer/schema.h"
#include "tiles.h"

/* clang-format off */
#define TILE(F, S) F(S, offset) F(S, bytes) F(S, level) F(S, number)
#define PYRAMID(F, S)                                                                                                  \
    F(S, nregions) F(S, nclasses) F(S, want_overview) F(S, level) F(S, bins) F(S, bytes) F(S, tiles) F(S, nbytes)      \
    F(S, ntiles) F(S, overview) F(S, shares) F(S, noverview) F(S, nshares)
#define STRUCTURES(X) X(vt_tile, TILE) X(vt_pyramid, PYRAMID)
/* clang-format on */

static const struct vt_schema_number numbers[] = {
#define COLUMN(name, number) {"vt_tile_column", #name, number},
    VT_TILE_COLUMNS(COLUMN)
#undef COLUMN
        {NULL, "TILE_BINS", VT_TILE_BINS},
    {NULL, "TILE_FAN", VT_TILE_FAN},
};

VT_SCHEMA(vt_tiles_schema, STRUCTURES, numbers)
