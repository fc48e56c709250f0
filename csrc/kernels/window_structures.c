/* SPDX-License-Identifier: BSD-3-Clause */
/* The schema of the structures of window_rows.h, see ../otf2_writer/schema.h. */
#include "../otf2_writer/schema.h"
#include "window_rows.h"

/* clang-format off */
#define EVENT(F, S)                                                                                                    \
    F(S, time) F(S, begin) F(S, number) F(S, words) F(S, location) F(S, kind) F(S, ref) F(S, region)
#define WINDOW(F, S)                                                                                                   \
    F(S, start) F(S, stop) F(S, location) F(S, first) F(S, calls) F(S, events) F(S, ncalls) F(S, calls_room)           \
    F(S, nevents) F(S, events_room) F(S, wanted)
#define STRUCTURES(X) X(vt_window_event, EVENT) X(vt_window, WINDOW)
/* clang-format on */

static const struct vt_schema_number numbers[] = {
#define COLUMN(name, number) {"vt_call_column", #name, number},
    VT_CALL_COLUMNS(COLUMN)
#undef COLUMN
        {NULL, "CALL_OPEN", VT_CALL_OPEN},
};

VT_SCHEMA(vt_window_schema, STRUCTURES, numbers)
