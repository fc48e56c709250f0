/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel of vtunify: unpacks the records of local files, finds the ids and messages in them (pass 1), repairs the
   clocks, and writes OTF2 events (pass 2). This header and repair.h are the interface for Python
   (src/vtrace/io/local/kernel.py); schema.c serves their structures.

   The caller owns the mapped files, rows, maps, OTF2 writers and results; they stay valid during a call. The caller
   frees the arrays of a result by the function for its structure (vt_kernel_scan_free ...). otf2.c owns the functions of
   libotf2, decode.c those of libzstd; vt_kernel_open and vt_kernel_zstd fill in both before all other calls. In this
   folder these rules always hold:
   - Several threads may call any function at once, but only one thread at a time uses a writer. Calls share only
     vt_ends.top, which is atomic, so the kernel takes no lock. libotf2's last error belongs to the thread.
   - Every size and id from a file is checked before its use. Damage gives VT_BAD_DATA and its place in the file.
   - Times are integers. The same records and maps give the same events on every machine.
   - Records are unpacked block by block, so the memory for them does not grow with the length of a file. */
#ifndef VT_TRANSCODE_H
#define VT_TRANSCODE_H

#include <stddef.h>
#include <stdint.h>
#include "../core/format.h"
#include "otf2.h"

#define VT_EXPORT __attribute__((visibility("default")))

struct vt_batch; /* ../otf2_reader/readback.h */
/* Takes the events of a full batch, and clears it. Another result than 0 ends the pass with VT_NO_MEMORY. */
typedef int vt_batch_full(void);

#define VT_RAW_MAX (VT_CHUNK_SIZE - VT_CHUNK_DATA)
#define VT_WORDS_MAX (VT_RAW_MAX / 8)
#define VT_UNMAPPED 0xffffffffu
#define VT_TICKS_MAX (UINT64_MAX >> 1) /* no counter reaches this */

#define VT_RESULTS(X)                                                                                                  \
    X(OK, 0) X(BAD_LIBRARY, 1) X(BAD_DATA, 2) X(BAD_OTF2, 3) X(NO_MEMORY, 4) X(BAD_ARGUMENT, 5) X(NO_SPACE, 6)
enum vt_result {
#define VT_RESULT_ENUM(name, number) VT_##name = number,
    VT_RESULTS(VT_RESULT_ENUM)
#undef VT_RESULT_ENUM
};

enum vt_form { VT_FORM_BLOCK, VT_FORM_CHUNK, VT_FORM_PACKED };

/* One block or chunk: a row of INDEX in src/vtrace/io/local/index.py. */
struct vt_row {
    uint64_t address; /* address of its head */
    uint8_t form;     /* enum vt_form: a block, a chunk of a buffer, a block of a packed archive (blocks.c) */
    uint8_t content, codec, nopen;
    uint32_t location, sequence, thread, records, classes, depth;
    uint32_t raw_bytes, stored_bytes, unused2;
    uint64_t ticks, end_ticks, lost, dropped;
    struct vt_clock_pair pair;
};

/* An error, its row, and the byte of the row's records. */
struct vt_error {
    int32_t otf2; /* OTF2_ErrorCode of VT_BAD_OTF2 */
    uint32_t row;
    uint64_t offset;
    char text[256];
};

/* Sorted arrays of the ids that were found; vt_kernel_scan_free frees them. */
struct vt_scan {
    uint64_t *functions, *addresses, *regions, *comms, *handles;
    uint64_t *messages; /* not sorted; of each USER_SEND and USER_RECV: ticks, communicator | receives << 32, tag */
    uint64_t nfunctions, naddresses, nregions, ncomms, nhandles, nmessages;
    uint64_t first_ticks, last_ticks, event_ticks; /* start of the first block; last record; first event,
                                                      approximately */
    uint64_t memory; /* 1: there are records of the heap */
    uint64_t threads; /* 1: there may be records of threads that begin and end */
};

/* The rows of one location. */
struct vt_stream {
    const struct vt_row *rows;
    uint32_t count, unused;
};

/* Ids and times of one location. VT_UNMAPPED: there is no OTF2 id. */
struct vt_maps {
    const uint32_t *function_offsets, *function_regions; /* code offsets, ascending */
    const uint64_t *addresses; /* ascending */
    const uint32_t *address_regions;
    const uint32_t *regions; /* by local id */
    const uint8_t *user_regions; /* by local id: 1 for regions that the program itself begins and ends */
    const uint32_t *comms, *comm_peer_offset; /* by local id; comm_peer_offset is added to peer and root */
    const uint32_t *comm_ranks; /* by local id: rank of the process itself */
    const uint32_t *metrics; /* by local id */
    const uint8_t *metric_types; /* OTF2_Type */
    const uint8_t *metric_sizes; /* by local id of a group of metrics: number of metrics; 0: not a group */
    const uint32_t *windows, *window_peer_offset; /* by local id, as for communicators; offset VT_UNMAPPED: a peer is */
    /* the number of a location */
    const uint32_t *location_ranks; /* by number of a location: its rank in the windows of devices */
    const uint32_t *rank_groups, *files, *handles; /* by local id */
    const uint32_t *strings; /* by local id: ids of OTF2's strings */
    const uint32_t *teams, *team_first; /* by local id; first member of each */
    const uint32_t *team_members; /* members of all teams: numbers of locations, ascending in each team */
    const uint64_t *team_joined; /* `joined` of each member: ticks, see VT_D_TEAM */
    const uint32_t *attributes; /* by local id */
    const uint8_t *attribute_types; /* OTF2_Type */
    const uint32_t *user_comms; /* by local id */
    const uint32_t *user_peers; /* rank of the other end of each USER_SEND and USER_RECV, in their order */
    const uint64_t *knot_ticks, *knot_ns; /* at least two, ticks ascending, ns not descending */
    const uint64_t *shift_ns, *shifts; /* from shift_ns on the clock is put forward by shifts; ascending; may be none */
    uint64_t nfunctions, naddresses, nregions, ncomms, nmetrics, nwindows, nrank_groups, nfiles, nhandles, nstrings,
        nattributes, nmetric_sizes;
    uint64_t nuser_comms, nuser_peers, ncomm_ranks, nknots, nteams, nteam_members, nshifts, nlocation_ranks;
    uint32_t unknown_region;
    uint32_t heap_attributes; /* OTF2 id of the first of enum vt_heap_attribute, VT_UNMAPPED: none */
    uint32_t thread_comm; /* OTF2 id of the communicator of the process's threads, VT_UNMAPPED: none */
    uint32_t is_forked; /* 1: the process is a forked child, which leaves calls that its parent has entered */
};

/* The samples of one location, and the meaning of its frames and weights in the archive. */
#define VT_FRAME_KINDS(X)                                                                                              \
    X(PLAIN, 0)                                                                                                        \
    X(STARTS, 1) /* of libc's code that starts a program or thread: omitted where it is outermost */                   \
    X(HIDDEN, 2) /* of vtrace: omitted */
enum vt_frame_kind {
#define VT_FRAME_KIND_ENUM(name, number) VT_FRAME_##name = number,
    VT_FRAME_KINDS(VT_FRAME_KIND_ENUM)
#undef VT_FRAME_KIND_ENUM
};

struct vt_sampled {
    const struct vt_row *rows; /* rows of samples */
    const uint64_t *frames; /* ascending */
    const uint32_t *frame_first, *frame_steps; /* the steps of each frame, outermost first: those from frame_first[i] */
    /* up to frame_first[i + 1]; a step is one of the archive, see contexts.h */
    const uint32_t *frame_names; /* for each frame: number of its function's name, 0: no region has the name */
    const uint8_t *frame_kinds; /* enum vt_frame_kind */
    const uint32_t *region_names; /* by local id: the name of a region in which no code of the program runs; or 0 */
    const uint64_t *weights; /* ascending */
    const uint32_t *generators; /* for each weight: OTF2's interrupt generator */
    const uint32_t *contexts; /* OTF2's number of each context; none for vt_kernel_contexts */
    uint64_t nrows, nframes, nframe_steps, nregion_names, nweights, ncontexts;
};

/* The calling contexts of a location, from 1 on; 0 is the root. vt_kernel_contexts_free frees them. */
struct vt_contexts {
    uint32_t *parents, *steps;
    uint64_t count;
};

/* Sorted arrays of the frames and weights in samples; vt_kernel_samples_free frees them. */
struct vt_sample_scan {
    uint64_t *frames, *weights;
    uint64_t nframes, nweights, samples, first_ticks, last_ticks;
};

enum vt_heap_attribute { VT_ALLOCATION_SIZE, VT_DEALLOCATION_SIZE, VT_ARGUMENT_ADDRESS, VT_RESULT_ADDRESS };

struct vt_transcoded {
    uint64_t counts[VT_EVENT_KINDS]; /* numbers of events, by enum vt_event */
    uint64_t first_ns, last_ns, events, lost, clamped, unmapped, closed, stray_leaves;
    uint64_t flush_ns, off_ns, flushes;
    uint64_t limit_ns, limit_why, limit_classes; /* time and reason of the first LIMIT; classes of all LIMIT records, 0:
                                                    none */
    uint64_t lost_by[VT_LOST_MOST]; /* events lost, by enum vt_lost; 0: another reason */
    uint64_t dropped, dropped_ns; /* records that a flight recorder has overwritten; end of the last one */
    uint64_t unended, unbegun; /* regions that the program began and did not end, and ended without a start */
    uint64_t unmatched; /* messages of the user API without the other end, omitted */
    uint64_t nnotes;
    struct vt_note *notes; /* vt_kernel_notes_free frees them */
    uint64_t ngaps;
    struct vt_gap *gaps; /* intervals in which the location did not record; vt_kernel_gaps_free frees them */
    uint64_t nwaits;
    struct vt_wait *waits; /* intervals in which the location waited for a processor; vt_kernel_waits_free frees them */
    uint64_t nblocked;
    struct vt_wait *blocked; /* intervals in which the location slept; vt_kernel_waits_free frees them */
};

/* An interval between two events, in their ns, in which the thread could run but waited ns for a processor. region: OTF2's
   number of the innermost open region; VT_UNMAPPED: none. count: number of waits that became this one. path: a hash of the
   open regions; VT_NO_PATH: unknown. The same for the ns in which the thread slept; site: the process's text of the call
   that slept, 0: unknown. */
struct vt_wait {
    uint64_t from, to, ns;
    uint32_t region, count;
    uint64_t path, site;
};
/* The hash of a call path (FNV-1a, with OTF2's numbers of regions for bytes): of the path without regions, and the
   factor. */
#define VT_NO_PATH 0
#define VT_PATH_START 14695981039346656037u
#define VT_PATH_FACTOR 1099511628211u

/* An open region: key of its enter; OTF2's region, or with samples the context (contexts.h); I/O operation that began in
   the region, 0: none, and its handle. */
struct vt_open_region {
    uint64_t key;
    uint32_t place, operation, handle, unused;
};

/* A row from which a later pass may begin: all that a pass carries on from the rows before. */
struct vt_start {
    uint64_t last, events; /* time of the newest event; number of events before the row */
    uint64_t messages, credit; /* as in struct pass */
    uint64_t first; /* its first open region; depth: their number */
    uint32_t row, sequence, depth, operations; /* sequence: of the row if no rows are missing before */
};

/* Starts of a location, `step` rows or more apart; vt_kernel_starts_free frees them. */
struct vt_starts {
    struct vt_start *starts;
    struct vt_open_region *opens;
    uint64_t nstarts, nopens, starts_room, opens_room, step;
};

/* The reason why a location did not record: enum vt_lost, or one of these. */
#define VT_GAP_REASONS(X)                                                                                              \
    X(OFF, 8) /* recording was switched off */                                                                         \
    X(REWOUND, 9) /* the program discarded these records */                                                            \
    X(RING, 10) /* overwritten by a flight recorder */                                                                 \
    X(FLUSH, 11) /* the location wrote its buffer */                                                                   \
    X(DAMAGE, 12) /* blocks are missing */                                                                             \
    X(LEFT_OUT, 13) /* an iteration, in which calls were only counted (VT_KEEP) */                                     \
    X(THINNED, 14) /* calls of less than 1 tick were only counted (VT_BUDGET); VT_GAP_THINNED + n: of less than 2^n */
enum vt_gap_reason {
#define VT_GAP_ENUM(name, number) VT_GAP_##name = number,
    VT_GAP_REASONS(VT_GAP_ENUM)
#undef VT_GAP_ENUM
        VT_GAP_MOST
};
#define VT_GAP_NUMBERS (VT_GAP_THINNED + 64) /* above all reasons */
_Static_assert(VT_GAP_OFF == VT_LOST_MOST, "the two enumerations have no number in common");

#define VT_GAPS_MAX 1024u /* intervals of a location */
#define VT_GAP_UNKNOWN UINT64_MAX /* value of count */
#define VT_GAP_OPEN UINT64_MAX /* value of to: until the end of the process */

/* An interval in which a location did not record, in the ns of events. ns: time without recording, less than to -
   from if intervals were joined. count: of events. classes: VT_CLASS_* that were not recorded. */
struct vt_gap {
    uint64_t from, to, ns, count;
    uint32_t classes, reason;
};

/* A marker or comment: not an event, but an entry of the marker file. */
struct vt_note {
    uint64_t ns;
    uint32_t marker, text; /* local ids; marker VT_UNMAPPED: a comment */
};

/* Decompresses a whole zstd frame into dst, which holds capacity bytes. Returns the number of bytes, or more than
   capacity for an error. Used if libzstd.so.1 is missing. */
typedef size_t vt_decompress(void *dst, size_t capacity, const void *src, size_t bytes);

/* Writes the schema (schema.h), cut to room bytes. Returns the length of the whole text. */
VT_EXPORT size_t vt_kernel_schema(char *text, size_t room);
VT_EXPORT int vt_kernel_open(const char *library, char *text, size_t size);
VT_EXPORT uint64_t vt_kernel_checksum(uint64_t seed, const void *data, uint64_t size); /* vt_checksum */
VT_EXPORT int vt_kernel_zstd(vt_decompress *instead); /* NULL: libzstd.so.1; returns 1 when there is one */
VT_EXPORT const char *vt_kernel_event(uint32_t number);
VT_EXPORT int32_t vt_kernel_prepare(void *archive);
/* libotf2's first error on this thread since the last call: its OTF2_ErrorCode, 0 for none. */
VT_EXPORT int32_t vt_kernel_complaint(char *text, size_t size);
/* Fills rows for the blocks of an open file of size bytes, mapped at base, from byte *at on. Returns their number. *at:
   the end of the last one; there is no room for a row, the file ends, or no valid block of this content follows. */
VT_EXPORT uint32_t vt_kernel_index(int file, uint64_t size, uint64_t base, uint8_t content, struct vt_row *rows,
                                   uint32_t room, uint64_t *at);
/* The same for blocks of a packed archive. */
VT_EXPORT uint32_t vt_kernel_index_packed(int file, uint64_t size, uint64_t base, uint8_t content, struct vt_row *rows,
                                          uint32_t room, uint64_t *at);
/* Writes blocks (form 0) as those of a packed archive, which are not larger. Returns their bytes. */
VT_EXPORT uint64_t vt_kernel_pack(const struct vt_row *rows, uint32_t count, uint8_t *into);
VT_EXPORT int vt_kernel_decode(const struct vt_row *row, uint8_t raw[VT_RAW_MAX], struct vt_error *error);
VT_EXPORT int vt_kernel_scan(const struct vt_row *rows, uint32_t count, uint32_t classes, struct vt_scan *found,
                             struct vt_error *error);
VT_EXPORT void vt_kernel_scan_free(struct vt_scan *found);
VT_EXPORT int vt_kernel_samples(const struct vt_row *rows, uint32_t count, struct vt_sample_scan *found,
                                struct vt_error *error);
VT_EXPORT void vt_kernel_samples_free(struct vt_sample_scan *found);
/* writer: NULL if only the batch gets the events. sampled: NULL for an archive without calling contexts. batch: gets the
   events, like a reader of the archive; NULL: none. The caller makes its settings; full is called before an event without
   room, and the last events stay in the batch. An error in the samples has a row of count or more. */
VT_EXPORT int vt_kernel_transcode(void *writer, const struct vt_row *rows, uint32_t count, const struct vt_maps *maps,
                                  const struct vt_sampled *sampled, struct vt_batch *batch, vt_batch_full *full,
                                  struct vt_transcoded *result, struct vt_error *error);
/* Counts the events that vt_kernel_transcode would write, and finds starts. starts: all 0 but step. */
VT_EXPORT int vt_kernel_count(const struct vt_row *rows, uint32_t count, const struct vt_maps *maps,
                              const struct vt_sampled *sampled, struct vt_starts *starts, struct vt_transcoded *result,
                              struct vt_error *error);
VT_EXPORT void vt_kernel_starts_free(struct vt_starts *starts);
/* Gives the events of the rows from a start on to a batch, as vt_kernel_transcode does; rows: from the start's row on;
   opens: its open regions. */
VT_EXPORT int vt_kernel_events_from(const struct vt_start *from, const struct vt_open_region *opens,
                                    const struct vt_row *rows, uint32_t count, const struct vt_maps *maps,
                                    struct vt_batch *batch, vt_batch_full *full, struct vt_transcoded *result,
                                    struct vt_error *error);
/* Converts ticks to times of events in place, by the clock of the maps. */
VT_EXPORT int vt_kernel_times(const struct vt_maps *maps, uint64_t *times, uint32_t count);
/* Finds the calling contexts that vt_kernel_transcode will write. */
VT_EXPORT int vt_kernel_contexts(const struct vt_row *rows, uint32_t count, const struct vt_maps *maps,
                                 const struct vt_sampled *sampled, struct vt_contexts *found, struct vt_error *error);
VT_EXPORT void vt_kernel_contexts_free(struct vt_contexts *found);
/* Writes definitions of calling contexts; returns OTF2's error code. */
VT_EXPORT int32_t vt_kernel_write_contexts(void *writer, uint64_t count, const uint32_t *regions, const uint32_t *lines,
                                           const uint32_t *parents);
VT_EXPORT void vt_kernel_notes_free(struct vt_transcoded *result);
VT_EXPORT void vt_kernel_gaps_free(struct vt_transcoded *result);
VT_EXPORT void vt_kernel_waits_free(struct vt_transcoded *result);
/* Writes the heap of a process as values of a metric class: bytes and blocks in use by all locations, UINT64, never
   below 0. batch, full: as in vt_kernel_transcode. which: the stream with an error. */
VT_EXPORT int vt_kernel_heap(void *writer, const struct vt_stream *streams, uint32_t count, const struct vt_maps *maps,
                             uint32_t class, struct vt_batch *batch, vt_batch_full *full, struct vt_transcoded *result,
                             uint32_t *which, struct vt_error *error);

/* ---- decode.c: the records of a row ---- */

/* Working memory of a pass over the rows of one location. */
struct vt_decoder {
    void *context; /* ZSTD_DCtx */
    uint64_t open[VT_OPEN_MAX];
    uint32_t nopen;
    uint64_t released, seen; /* file pages in memory that are no longer needed */
    uint64_t words[VT_WORDS_MAX]; /* the records, or the bytes of definitions */
    struct vt_column {
        uint32_t what, size, next, count; /* size: payload words; next: of its next record */
    } whats[VT_WORDS_MAX];
    uint64_t times[VT_WORDS_MAX], payload[VT_WORDS_MAX];
    uint8_t columns[VT_COLUMNS_MOST];
};

struct vt_decoder *vt_decoder_new(void);
void vt_decoder_free(struct vt_decoder *d);
/* The bytes before the stored bytes of a row. */
uint64_t vt_head_bytes(const struct vt_row *row);
/* Checks the checksum of a block and reads its head; returns 0 if the checksum is wrong. blocks.c. */
int vt_read_head(const struct vt_row *row, struct vt_block *head);
/* Checks a row and unpacks it into words and open. Returns VT_OK, or VT_BAD_DATA with a text. */
int vt_decode(struct vt_decoder *d, const struct vt_row *row, struct vt_error *error);
/* Joins the columns in d->columns to n words. Returns 0 if the columns are damaged. join_columns.c. */
int vt_columns_join(struct vt_decoder *d, size_t bytes, uint32_t n);
/* Informs Linux that the row's pages are no longer needed, so that memory use does not grow with the file. */
void vt_release(struct vt_decoder *d, const struct vt_row *row);
/* Formats an error's text; returns code. */
int vt_fail(struct vt_error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The error for a call of libotf2 that returned code: VT_BAD_OTF2 with its complaint. */
int vt_refused(struct vt_error *error, int32_t code);

/* ---- Records, for both passes ---- */

/* 1 + payload words of each kind, 0 where there is no such kind; sum of enum vt_record_role. */
static const uint8_t vt_record_words[128] = {
#define VT_KIND_WORDS(name, number, words, ...) [number] = 1 + (words),
    VT_KINDS(VT_KIND_WORDS)
#undef VT_KIND_WORDS
};
static const uint8_t vt_record_roles[128] = {
#define VT_KIND_ROLE(name, number, words, class, id, stack, role, ...) [number] = VT_RECORD_##role,
    VT_KINDS(VT_KIND_ROLE)
#undef VT_KIND_ROLE
};

/* Returns the number of words of the record at words[at] of n, which is not a function event; 0, with a text: a bad
   record. */
static inline uint32_t vt_record(const uint64_t *words, uint32_t at, uint32_t n, struct vt_error *error)
{
    uint32_t what = (uint32_t)words[at], expected = vt_record_words[VT_KIND(what)];
    if (expected && VT_WORDS(what) + 1 == expected && expected <= n - at) return expected;
    error->offset = at * 8;
    if (!expected) vt_fail(error, VT_BAD_DATA, "unknown kind of record %u", VT_KIND(what));
    else if (VT_WORDS(what) + 1 != expected) vt_fail(error, VT_BAD_DATA, "record of a wrong size");
    else vt_fail(error, VT_BAD_DATA, "cut record");
    return 0;
}

#endif
