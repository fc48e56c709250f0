/* SPDX-License-Identifier: BSD-3-Clause */
/* libFuzzer on the causality repair. Input bytes become records of processes on several clocks; the kernel finds their
   ends and replays them. The result must be a valid list of knots for pass 2, the same each time. If no end is doubtful
   or missing, nothing may run backwards afterwards. test_kernel_fuzz.py builds this file. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "core/format.h"
#include "insist.h"
#include "otf2_writer/repair.h"

#define PROCESSES 4u
#define LOCATIONS 2u
#define STREAMS (PROCESSES * LOCATIONS)
#define COMMS 5u /* the last one belongs to a window */
#define ROOM 4096u /* words per location */
#define KINDS (sizeof kinds / sizeof *kinds)

/* Precedes the records. clocks: two bits per process; doubtful: one bit per process. */
struct options {
    uint8_t clocks, doubtful, repaired[COMMS], limit;
};

static const uint8_t kinds[] = {
#define KIND(name, ...) VT_K_##name,
    VT_KINDS(KIND)
#undef KIND
};

static struct location {
    uint64_t words[ROOM];
    uint32_t n;
} locations[STREAMS];

/* Replaces madvise: the kernel releases pages of mapped files, but the rows here are not mapped files. */
int vt_fuzz_madvise(void *address, size_t bytes, int advice)
{
    (void)address, (void)bytes, (void)advice;
    return 0;
}

/* Takes a record from bytes: location, kind, time with id, and one byte per word of payload. Both halves of a word are
   small numbers, so that ends match often. */
static size_t take_record(const uint8_t *data, size_t size)
{
    struct location *l = &locations[data[0] % STREAMS];
    const uint32_t kind = kinds[data[1] % KINDS], words = vt_record_words[kind];
    if (size < 2 + words || l->n + words > ROOM) return 0;
    l->words[l->n++] = (uint64_t)(data[2] >> 2) * 7 << 32 | VT_WHAT(kind, words - 1, data[2] & 3);
    for (uint32_t i = 1; i < words; i++) {
        const uint8_t byte = data[2 + i];
        uint64_t word = (uint64_t)(byte >> 4 & 7) << 32 | (byte & 15);
        if (byte & 128) word = byte & 1 ? UINT64_MAX : (uint64_t)(byte & 15);
        l->words[l->n++] = word;
    }
    return 2 + words;
}

/* Divides the records of a location into at most `most` chunks. The caller frees their memory. */
static uint32_t make_rows(const struct location *l, uint32_t location, uint32_t most, struct vt_row rows[8])
{
    uint32_t n = 0, at = 0;
    uint64_t ticks = 1000;
    while (at < l->n && n < most) {
        uint32_t end = at, wanted = n + 1 == most ? l->n : at + l->n / most + 1;
        uint64_t last = ticks;
        for (; end < wanted && end < l->n; end += vt_record_words[VT_KIND((uint32_t)l->words[end])]) {
            last += l->words[end] >> 32;
            if (VT_KIND((uint32_t)l->words[end]) == VT_K_TIME) last += l->words[end + 1];
        }
        struct vt_chunk head = {.ticks = ticks, .content = VT_EVENTS, .location = location};
        const size_t bytes = (end - at) * sizeof *l->words;
        uint8_t *memory = malloc(VT_CHUNK_DATA + bytes);
        memset(memory, 0, VT_CHUNK_DATA);
        memcpy(memory, &head, sizeof head);
        memcpy(memory + VT_CHUNK_DATA, l->words + at, bytes);
        rows[n] = (struct vt_row){
            .form = 1, .content = VT_EVENTS, .sequence = n, .classes = VT_CLASS_ALL, .ticks = ticks, .end_ticks = last,
            .raw_bytes = (uint32_t)bytes, .stored_bytes = (uint32_t)bytes, .location = location,
            .address = (uintptr_t)memory,
        };
        n++;
        at = end;
        ticks = last;
    }
    return n;
}

static int is_knot_list(const struct vt_knot *k, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        if (!k[i].shift) return 0;
        if (i && k[i].ns <= k[i - 1].ns) return 0;
        /* Times keep their order. */
        if (i && k[i].ns + k[i].shift < vt_times_put(k[i].ns, k[i - 1].ns, k[i - 1].shift)) return 0;
    }
    return 1;
}

/* The ends of all processes; good: no record was refused. */
struct found {
    struct vt_piece *pieces;
    uint64_t n;
    int file, good;
};

/* moved: corrections of the clocks, or NULL. */
static struct found find_all(const struct vt_row rows[STREAMS][8], const uint32_t *counts, const struct vt_parts *parts,
                             const struct vt_repaired *moved)
{
    static const uint32_t comms[] = {0, 1, 2, 3, VT_UNMAPPED}, offsets[] = {0, 0, 1, UINT32_MAX, 0};
    static const uint32_t peers[] = {2, 0, 1, VT_UNMAPPED, 3};
    static const uint64_t ticks[] = {1000, 2000, 5000}, ns[] = {0, 1000, 4500};
    struct found found = {.file = memfd_create("ends", 0), .good = 1};
    uint64_t top = 0;
    INSIST(found.file >= 0);
    for (uint32_t p = 0; p < PROCESSES; p++) {
        uint32_t ranks[COMMS];
        for (uint32_t c = 0; c < COMMS; c++) {
            ranks[c] = VT_UNMAPPED;
            for (uint32_t k = parts->comm_first[c]; k < parts->comm_first[c + 1]; k++)
                if (parts->comm_members[k] == p) ranks[c] = k - parts->comm_first[c];
        }
        struct vt_maps maps = {
            .comms = comms, .comm_peer_offset = offsets, .ncomms = 5, .comm_ranks = ranks, .ncomm_ranks = COMMS,
            .windows = comms, .nwindows = 5,
            .user_comms = comms, .nuser_comms = 5, .user_peers = peers, .nuser_peers = 5, .knot_ticks = ticks,
            .knot_ns = ns, .nknots = 3,
        };
        uint64_t *shift_ns = NULL, *shifts = NULL;
        if (moved) {
            const uint64_t first = moved->first[parts->clocks[p]], n = moved->first[parts->clocks[p] + 1] - first;
            shift_ns = malloc((n + 1) * sizeof *shift_ns);
            shifts = malloc((n + 1) * sizeof *shifts);
            for (uint64_t i = 0; i < n; i++) {
                shift_ns[i] = moved->knots[first + i].ns;
                shifts[i] = moved->knots[first + i].shift;
            }
            maps.shift_ns = shift_ns, maps.shifts = shifts, maps.nshifts = n;
        }
        struct vt_stream streams[LOCATIONS];
        for (uint32_t i = 0; i < LOCATIONS; i++)
            streams[i] = (struct vt_stream){rows[p * LOCATIONS + i], counts[p * LOCATIONS + i], 0};
        struct vt_ends ends = {.top = &top, .file = found.file, .process = (int32_t)p};
        struct vt_error error = {0};
        uint32_t which = 9;
        const int code = vt_kernel_ends(streams, LOCATIONS, &maps, parts, &ends, &which, &error);
        INSIST(code == VT_OK || (code == VT_BAD_DATA && error.text[0] && which < LOCATIONS));
        found.good &= code == VT_OK;
        found.pieces = realloc(found.pieces, (found.n + ends.npieces + 1) * sizeof *found.pieces);
        for (uint64_t i = 0; i < ends.npieces; i++) {
            INSIST(ends.pieces[i].offset + ends.pieces[i].count * sizeof(struct vt_end) <= top);
            found.pieces[found.n] = ends.pieces[i];
            found.pieces[found.n++].file = (uint32_t)found.file;
        }
        vt_kernel_ends_free(&ends);
        free(shift_ns);
        free(shifts);
    }
    return found;
}

static void give_back(struct found found)
{
    free(found.pieces);
    close(found.file);
}

static void check_result(const struct vt_parts *parts, const struct found *found, const struct vt_repaired *one)
{
    struct vt_repaired other;
    INSIST(!vt_kernel_repair(parts, found->pieces, found->n, &other));
    const uint64_t all = one->first[parts->nclocks];
    INSIST(one->reversed_messages <= one->messages && one->reversed_collectives <= one->collectives);
    INSIST(one->left <= one->ignored && (all != 0) == (one->largest != 0));
    INSIST(other.first[parts->nclocks] == all && !memcmp(one->knots, other.knots, all * sizeof *one->knots));
    INSIST(one->messages == other.messages && one->ignored == other.ignored && one->most == other.most);
    for (uint64_t k = 0; k < parts->nclocks; k++)
        INSIST(one->first[k] <= one->first[k + 1] &&
               is_knot_list(one->knots + one->first[k], one->first[k + 1] - one->first[k]));
    vt_kernel_repair_free(&other);
}

/* Returns 1 if the times of each location ascend, as in files that the runtime wrote. */
static int is_ascending(const struct vt_row rows[STREAMS][8], const uint32_t *counts)
{
    for (uint32_t i = 0; i < STREAMS; i++)
        for (uint32_t k = 0; k < counts[i]; k++)
            if (rows[i][k].end_ticks < rows[i][k].ticks || rows[i][k].end_ticks > UINT32_MAX) return 0;
    return 1;
}

static void try_all(const struct options *options, const struct vt_row rows[STREAMS][8], const uint32_t *counts)
{
    static const uint32_t first[] = {0, 4, 8, 10, 11, 15}, members[] = {0, 1, 2, 3, 3, 2, 1, 0, 0, 1, 2, 0, 1, 2, 3};
    uint32_t clocks[PROCESSES];
    uint8_t doubtful[PROCESSES], repaired[COMMS];
    for (uint32_t i = 0; i < PROCESSES; i++) {
        clocks[i] = options->clocks >> 2 * i & 3;
        doubtful[i] = options->doubtful >> i & 1;
    }
    for (uint32_t i = 0; i < COMMS; i++) repaired[i] = options->repaired[i] % 3;
    const struct vt_parts parts = {
        .clocks = clocks, .doubtful = doubtful, .comm_first = first, .comm_members = members, .comm_repaired = repaired,
        .nprocesses = PROCESSES, .ncomms = COMMS, .nmembers = 15, .nclocks = 4,
        .first_window = COMMS - 1, .limit = options->limit,
    };
    struct found found = find_all(rows, counts, &parts, NULL);
    struct vt_repaired one, other;
    if (found.good && !vt_kernel_repair(&parts, found.pieces, found.n, &one)) {
        check_result(&parts, &found, &one);
        if (!one.ignored && is_ascending(rows, counts)) {
            /* On the corrected clocks nothing runs backwards, and a second repair changes nothing. */
            struct found moved = find_all(rows, counts, &parts, &one);
            INSIST(moved.good && !vt_kernel_repair(&parts, moved.pieces, moved.n, &other));
            INSIST(other.messages == one.messages && other.collectives == one.collectives);
            INSIST(other.ignored || (!other.reversed_messages && !other.reversed_collectives && !other.largest));
            vt_kernel_repair_free(&other);
            give_back(moved);
        }
        vt_kernel_repair_free(&one);
    }
    give_back(found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct options options;
    static struct vt_row rows[STREAMS][8];
    uint32_t counts[STREAMS];
    if (size < sizeof options) return 0;
    memcpy(&options, data, sizeof options);
    for (uint32_t i = 0; i < STREAMS; i++) locations[i].n = 0;
    for (size_t at = sizeof options, taken = 1; taken && at + 3 <= size; at += taken)
        taken = take_record(data + at, size - at);
    for (uint32_t i = 0; i < STREAMS; i++)
        counts[i] = make_rows(&locations[i], i % LOCATIONS, options.limit % 8 + 1u, rows[i]);
    try_all(&options, (const struct vt_row(*)[8])rows, counts);
    for (uint32_t i = 0; i < STREAMS; i++)
        for (uint32_t k = 0; k < counts[i]; k++) free((void *)(uintptr_t)rows[i][k].address);
    return 0;
}
