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

STRUCTURES(VT_WHOLE)

static const struct vt_schema_field fields[] = {
#define FIELDS(structure, list) list(VT_FIELD, structure)
    STRUCTURES(FIELDS)
#undef FIELDS
};

static const struct vt_schema_number numbers[] = {
#define COLUMN(name, number) {"vt_tile_column", #name, number},
    VT_TILE_COLUMNS(COLUMN)
#undef COLUMN
        {NULL, "TILE_BINS", VT_TILE_BINS},
    {NULL, "TILE_FAN", VT_TILE_FAN},
};

VT_EXPORT size_t vt_tiles_schema(char *text, size_t room)
{
    struct vt_schema_text found = {text, room, 0};
    vt_schema_numbers(&found, numbers, sizeof numbers / sizeof *numbers);
    vt_schema_fields(&found, fields, sizeof fields / sizeof *fields);
    return found.used;
}
