/* SPDX-License-Identifier: BSD-3-Clause */
/* The schema of the rewriter's structures, see ../otf2_writer/schema.h. */
#include "../otf2_writer/schema.h"
#include "external_lines.h"
#include "rewriter.h"

/* clang-format off */
#define EVENT(F, S)                                                                                                    \
    F(S, time) F(S, ordinal) F(S, id) F(S, ref) F(S, peer) F(S, tag) F(S, kind) F(S, inside) F(S, selected)
#define REWRITE(F, S)                                                                                                  \
    F(S, copy) F(S, writer) F(S, listed) F(S, regions) F(S, contexts) F(S, metrics) F(S, ask) F(S, answers)           \
    F(S, from) F(S, to) F(S, nlisted) F(S, nregions) F(S, ncontexts) F(S, nmetrics) F(S, whole) F(S, events)          \
    F(S, edges) F(S, nevents) F(S, events_max) F(S, nedges) F(S, edges_max) F(S, open_sections) F(S, nopen)            \
    F(S, open_max) F(S, stack) F(S, depth) F(S, stack_max) F(S, attributes) F(S, seen) F(S, next) F(S, last)           \
    F(S, written) F(S, unknown) F(S, early) F(S, stray) F(S, ended) F(S, code) F(S, out_of_room) F(S, counts)
#define LINES(F, S)                                                                                                    \
    F(S, text) F(S, uses) F(S, begin) F(S, end) F(S, name) F(S, pid) F(S, tid) F(S, integers) F(S, reals)              \
    F(S, name_at) F(S, name_size) F(S, is_real) F(S, size) F(S, columns) F(S, nvalues) F(S, dates) F(S, at) F(S, line) \
    F(S, rows) F(S, names) F(S, column) F(S, fault)
#define STRUCTURES(X) X(vt_copied_event, EVENT) X(vt_rewrite, REWRITE) X(vt_external_lines, LINES)
/* clang-format on */

static const struct vt_schema_number numbers[] = {
    {NULL, "COPY_COUNTER", VT_COPY_COUNTER},
    {NULL, "COPY_SECTION", VT_COPY_SECTION},
    {NULL, "COPY_NO_MEMORY", VT_COPY_NO_MEMORY},
    {NULL, "COPY_LARGE_ID", VT_COPY_LARGE_ID},
    {NULL, "COPY_INTERCOMM", VT_COPY_INTERCOMM},
    {NULL, "COPY_UNKNOWN", VT_COPY_UNKNOWN},
    {"field", "NAME", VT_FIELD_NAME},
    {"field", "BEGIN", VT_FIELD_BEGIN},
    {"field", "END", VT_FIELD_END},
    {"field", "VALUE", VT_FIELD_VALUE},
    {"field", "PID", VT_FIELD_PID},
    {"field", "TID", VT_FIELD_TID},
};

VT_SCHEMA(vt_rewriter_schema, STRUCTURES, numbers)
