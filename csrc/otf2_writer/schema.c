/* SPDX-License-Identifier: BSD-3-Clause */
/* The schema of the local files and of the kernel's own structures, see schema.h. A new field of a structure must be
   listed here, too, else this file does not compile. */
#include <stdarg.h>
#include <stdio.h>
#include "repair.h"
#include "schema.h"
#include "transcode.h"

void vt_schema_line(struct vt_schema_text *text, const char *format, ...)
{
    size_t at = text->used < text->room ? text->used : text->room;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text->text + at, text->room - at, format, arguments);
    va_end(arguments);
    if (length > 0) text->used += (size_t)length;
}

void vt_schema_fields(struct vt_schema_text *text, const struct vt_schema_field *f, size_t count)
{
    for (; count--; f++)
        vt_schema_line(text, "field\t%s\t%s\t%s\t%zu\t%zu\n", f->structure, f->name, f->type, f->offset, f->size);
}

void vt_schema_numbers(struct vt_schema_text *text, const struct vt_schema_number *n, size_t count)
{
    for (; count--; n++) {
        unsigned long long number = n->number;
        if (n->group) vt_schema_line(text, "enumerator\t%s\t%s\t%llu\n", n->group, n->name, number);
        else vt_schema_line(text, "constant\t%s\t%llu\n", n->name, number);
    }
}

/* clang-format off */
#define FILE_HEAD(F, S)                                                                                                \
    F(S, magic) F(S, version) F(S, content) F(S, clock) F(S, head_bytes) F(S, checksum) F(S, run) F(S, world)          \
    F(S, rank) F(S, world_size) F(S, location) F(S, pid) F(S, start) F(S, parent_pid) F(S, forked) F(S, parent_start)  \
    F(S, ticks_per_second) F(S, pair) F(S, tool) F(S, host) F(S, prefix) F(S, directory) F(S, buffer)             \
    F(S, pid_space)
#define CLOCK_PAIR(F, S) F(S, ticks) F(S, mono) F(S, real)
#define CHUNK(F, S)                                                                                                    \
    F(S, location) F(S, sequence) F(S, thread) F(S, records) F(S, ticks) F(S, pair) F(S, lost) F(S, dropped)           \
    F(S, depth) F(S, nopen) F(S, head) F(S, state) F(S, content) F(S, classes) F(S, end_ticks) F(S, next) F(S, used)   \
    F(S, open) F(S, counted) F(S, kept)
#define PROFILE_ROW(F, S)                                                                                              \
    F(S, what) F(S, parent) F(S, number) F(S, turns) F(S, ticks) F(S, least) F(S, most) F(S, squares) F(S, entered)    \
    F(S, out) F(S, in)
#define BLOCK(F, S)                                                                                                    \
    F(S, magic) F(S, version) F(S, codec) F(S, content) F(S, raw_bytes) F(S, stored_bytes) F(S, checksum)              \
    F(S, location) F(S, sequence) F(S, thread) F(S, records) F(S, classes) F(S, depth) F(S, nopen) F(S, unused)        \
    F(S, ticks) F(S, end_ticks) F(S, lost) F(S, dropped) F(S, pair) F(S, open)
#define COLUMNS(F, S)                                                                                                  \
    F(S, records) F(S, whats) F(S, step) F(S, time_bytes) F(S, payload_bytes) F(S, unused)
#define ROW(F, S)                                                                                                      \
    F(S, address) F(S, form) F(S, content) F(S, codec) F(S, nopen) F(S, location) F(S, sequence) F(S, thread)         \
    F(S, records) F(S, classes) F(S, depth) F(S, raw_bytes) F(S, stored_bytes) F(S, unused2) F(S, ticks)               \
    F(S, end_ticks) F(S, lost) F(S, dropped) F(S, pair)
#define ERROR_TEXT(F, S) F(S, otf2) F(S, row) F(S, offset) F(S, text)
#define SCAN(F, S)                                                                                                     \
    F(S, functions) F(S, addresses) F(S, regions) F(S, comms) F(S, handles) F(S, messages) F(S, nfunctions)            \
    F(S, naddresses) F(S, nregions) F(S, ncomms) F(S, nhandles) F(S, nmessages) F(S, first_ticks) F(S, last_ticks)     \
    F(S, event_ticks) F(S, memory) F(S, threads)
#define STREAM(F, S) F(S, rows) F(S, count) F(S, unused)
#define MAPS(F, S)                                                                                                     \
    F(S, function_offsets) F(S, function_regions) F(S, addresses) F(S, address_regions) F(S, regions)                  \
    F(S, user_regions) F(S, comms) F(S, comm_peer_offset) F(S, comm_ranks) F(S, metrics) F(S, metric_types)            \
    F(S, metric_sizes) F(S, windows) F(S, window_peer_offset) F(S, location_ranks) F(S, rank_groups) F(S, files)       \
    F(S, handles)                                                                                                      \
    F(S, strings) F(S, teams) F(S, team_first) F(S, team_members) F(S, team_joined) F(S, attributes)                   \
    F(S, attribute_types) F(S, user_comms) F(S, user_peers) F(S, knot_ticks) F(S, knot_ns) F(S, shift_ns)              \
    F(S, shifts) F(S, nfunctions) F(S, naddresses) F(S, nregions) F(S, ncomms) F(S, nmetrics) F(S, nwindows)           \
    F(S, nrank_groups) F(S, nfiles) F(S, nhandles) F(S, nstrings) F(S, nattributes) F(S, nmetric_sizes)                \
    F(S, nuser_comms) F(S, nuser_peers) F(S, ncomm_ranks) F(S, nknots) F(S, nteams) F(S, nteam_members)                \
    F(S, nshifts) F(S, nlocation_ranks) F(S, unknown_region) F(S, heap_attributes) F(S, thread_comm) F(S, is_forked)
#define TRANSCODED(F, S)                                                                                               \
    F(S, counts) F(S, first_ns) F(S, last_ns) F(S, events) F(S, lost) F(S, clamped) F(S, unmapped) F(S, closed)        \
    F(S, stray_leaves) F(S, flush_ns) F(S, off_ns) F(S, flushes) F(S, limit_ns) F(S, limit_why) F(S, limit_classes)    \
    F(S, lost_by) F(S, dropped) F(S, dropped_ns) F(S, unended) F(S, unbegun) F(S, unmatched) F(S, nnotes) F(S, notes)  \
    F(S, ngaps) F(S, gaps) F(S, nwaits) F(S, waits) F(S, nblocked) F(S, blocked)
#define SAMPLED(F, S)                                                                                                  \
    F(S, rows) F(S, frames) F(S, frame_first) F(S, frame_steps) F(S, frame_names) F(S, frame_kinds)                    \
    F(S, region_names) F(S, weights) F(S, generators) F(S, contexts) F(S, nrows) F(S, nframes) F(S, nframe_steps)      \
    F(S, nregion_names) F(S, nweights) F(S, ncontexts)
#define CONTEXTS(F, S) F(S, parents) F(S, steps) F(S, count)
#define SAMPLE_SCAN(F, S)                                                                                              \
    F(S, frames) F(S, weights) F(S, nframes) F(S, nweights) F(S, samples) F(S, first_ticks) F(S, last_ticks)
#define GAP(F, S) F(S, from) F(S, to) F(S, ns) F(S, count) F(S, classes) F(S, reason)
#define WAIT(F, S) F(S, from) F(S, to) F(S, ns) F(S, region) F(S, count) F(S, path) F(S, site)
#define START(F, S)                                                                                                    \
    F(S, last) F(S, events) F(S, messages) F(S, credit) F(S, first) F(S, row) F(S, sequence) F(S, depth) F(S, operations)
#define OPEN_REGION(F, S) F(S, key) F(S, place) F(S, operation) F(S, handle) F(S, unused)
#define STARTS(F, S)                                                                                                   \
    F(S, starts) F(S, opens) F(S, nstarts) F(S, nopens) F(S, starts_room) F(S, opens_room) F(S, step)
#define NOTE(F, S) F(S, ns) F(S, marker) F(S, text)
#define PARTS(F, S)                                                                                                    \
    F(S, clocks) F(S, doubtful) F(S, comm_first) F(S, comm_members) F(S, comm_repaired) F(S, nprocesses) F(S, ncomms)  \
    F(S, nmembers) F(S, nclocks) F(S, first_window) F(S, limit)
#define PIECE(F, S) F(S, offset) F(S, process) F(S, location) F(S, count) F(S, file)
#define ENDS(F, S) F(S, top) F(S, pieces) F(S, npieces) F(S, file) F(S, process)
#define KNOT(F, S) F(S, ns) F(S, shift)
#define REPAIRED(F, S)                                                                                                 \
    F(S, messages) F(S, reversed_messages) F(S, collectives) F(S, reversed_collectives) F(S, most) F(S, largest)       \
    F(S, ignored) F(S, left) F(S, knots) F(S, first)
#define STRUCTURES(X)                                                                                                  \
    X(vt_clock_pair, CLOCK_PAIR) X(vt_file, FILE_HEAD) X(vt_chunk, CHUNK) X(vt_block, BLOCK) X(vt_columns, COLUMNS)    \
    X(vt_row, ROW) X(vt_profile_row, PROFILE_ROW) X(vt_error, ERROR_TEXT) X(vt_scan, SCAN) X(vt_stream, STREAM) X(vt_maps, MAPS)                      \
    X(vt_transcoded, TRANSCODED) X(vt_sampled, SAMPLED) X(vt_contexts, CONTEXTS) X(vt_sample_scan, SAMPLE_SCAN)        \
    X(vt_start, START) X(vt_open_region, OPEN_REGION) X(vt_starts, STARTS)                                             \
    X(vt_gap, GAP) X(vt_wait, WAIT) X(vt_note, NOTE) X(vt_parts, PARTS) X(vt_piece, PIECE)                 \
    X(vt_ends, ENDS) X(vt_knot, KNOT) X(vt_repaired, REPAIRED)
/* clang-format on */

STRUCTURES(VT_WHOLE)

static const struct vt_schema_field fields[] = {
#define FIELDS(structure, list) list(VT_FIELD, structure)
    STRUCTURES(FIELDS)
#undef FIELDS
};

#define CONSTANT(name) {NULL, #name, VT_##name},
#define CLASS(name, bit) {"vt_class", #name, bit},
#define LOST(name, number) {"vt_lost", #name, number},
#define GAP_REASON(name, number) {"vt_gap_reason", #name, number},
#define DEFINITION(name, number, values) {"vt_definition", #name, number},
#define MARKER(name, number) {"vt_marker", #name, number},
#define COMM(name, number) {"vt_comm_kind", #name, number},
#define PARADIGM(name, number) {"vt_io_paradigm", #name, number},
#define CLOCK(name, number) {"vt_clock_kind", #name, number},
#define CONTENT(name, number) {"vt_content", #name, number},
#define STATE(name, number) {"vt_chunk_state", #name, number},
#define CODEC(name, number) {"vt_codec", #name, number},
#define RESULT(name, number) {"vt_result", #name, number},
#define SAMPLE_END(name, number) {"vt_sample_end", #name, number},
#define SAMPLE_CLOCK(name, number) {"vt_sample_clock", #name, number},
#define FRAME_KIND(name, number) {"vt_frame_kind", #name, number},

static const struct vt_schema_number numbers[] = {
    /* clang-format off */
    CONSTANT(FORMAT_VERSION) CONSTANT(CHUNK_SIZE) CONSTANT(CHUNK_DATA) CONSTANT(RAW_MAX) CONSTANT(OPEN_MAX)
    CONSTANT(FILE_HEAD) CONSTANT(LAST_CHUNK) CONSTANT(NO_RANK) CONSTANT(INHERITS) CONSTANT(IN_MEMORY) CONSTANT(UNBUFFERED)
    CONSTANT(COUNTS) CONSTANT(PROFILE) CONSTANT(PROFILE_ROWS)
    CONSTANT(FROM_ALL) CONSTANT(IO_UNKNOWN)
    CONSTANT(FUNCTION) CONSTANT(FUNCTION_LEAVE) CONSTANT(CODE_MASK) CONSTANT(ID_MAX) CONSTANT(OPEN_ADDRESS)
    CONSTANT(CLASS_ADDRESS) CONSTANT(CLASS_HEAP) CONSTANT(CLASS_ALL) CONSTANT(CLASS_FIRST) CONSTANT(LOST_MOST)
    CONSTANT(STEP_ZERO) CONSTANT(WHAT_BYTES) CONSTANT(UNMAPPED) CONSTANT(GAP_UNKNOWN) CONSTANT(GAP_OPEN)
    CONSTANT(SAMPLES) CONSTANT(SAMPLE_WORDS) CONSTANT(SAMPLE_VALUES) CONSTANT(SAMPLE_FRAMES) CONSTANT(FRAME_OWN)
    CONSTANT(FRAME_PYTHON) CONSTANT(PYTHON_UNIT_BITS) CONSTANT(PYTHON_UNIT_MASK)
    CONSTANT(PATH_START) CONSTANT(PATH_FACTOR) CONSTANT(SITE_SHARED) CONSTANT(SITE_TIMED)
    /* clang-format on */
    VT_CLASSES(CLASS) VT_LOST_REASONS(LOST) VT_GAP_REASONS(GAP_REASON) VT_DEFINITION_KINDS(DEFINITION)
        VT_MARKERS(MARKER) VT_COMM_KINDS(COMM) VT_IO_PARADIGMS(PARADIGM) VT_CLOCKS(CLOCK) VT_CONTENTS(CONTENT)
            VT_CHUNK_STATES(STATE) VT_CODECS(CODEC) VT_RESULTS(RESULT) VT_SAMPLE_ENDS(SAMPLE_END)
                VT_SAMPLE_CLOCKS(SAMPLE_CLOCK) VT_FRAME_KINDS(FRAME_KIND)};

static void add_bytes(struct vt_schema_text *text, const char *name, const char *bytes)
{
    vt_schema_line(text, "text\t%s\t", name);
    while (*bytes) vt_schema_line(text, "%02x", (uint8_t)*bytes++);
    vt_schema_line(text, "\n");
}

VT_EXPORT size_t vt_kernel_schema(char *text, size_t room)
{
    struct vt_schema_text found = {text, room, 0};
    add_bytes(&found, "FILE_MAGIC", VT_FILE_MAGIC);
    add_bytes(&found, "BLOCK_MAGIC", VT_BLOCK_MAGIC);
    vt_schema_numbers(&found, numbers, sizeof numbers / sizeof *numbers);
#define KIND(name, number, words, class, refers_to, stack, role, handler, payload)                                     \
    vt_schema_line(&found, "kind\t" #name "\t%u\t%u\t%u\t" #refers_to "\t%s\n", number, words, VT_CLASS_##class,       \
                   payload);
    VT_KINDS(KIND)
#undef KIND
#define VALUES(name, number, values) vt_schema_line(&found, "definition\t" #name "\t%s\n", values);
    VT_DEFINITION_KINDS(VALUES)
#undef VALUES
    vt_schema_fields(&found, fields, sizeof fields / sizeof *fields);
    return found.used;
}
