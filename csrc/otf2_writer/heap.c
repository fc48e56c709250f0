/* SPDX-License-Identifier: BSD-3-Clause */
/* The heap of a process. The records of a thread have the sums of that thread; the heap of the process is the total
   over its threads. The streams of the threads are joined by time, block by block, so that memory use does not grow
   with their length. */
#include <stdlib.h>
#include "listener.h"
#include "times.h"
#include "transcode.h"

#define SUMS 2 /* bytes, blocks */
static const uint8_t sum_types[SUMS] = {VT_OTF2_TYPE_UINT64, VT_OTF2_TYPE_UINT64};

struct told { /* the change of the sums since the previous record */
    uint64_t ns;
    int64_t change[SUMS];
};

struct lane { /* one location */
    const struct vt_stream *stream;
    struct vt_times times;
    struct told *told; /* changes of the current block; the decoder's memory is ten times as large */
    uint32_t row, at, count; /* next block; next entry of told; entries of told */
    uint64_t ns;             /* time of the next change; before the first block: its start */
    int64_t last[SUMS];      /* the thread's sums */
};

struct join {
    const struct vt_listener *listener; /* NULL: none */
    struct lane *lanes;
    struct vt_decoder *decoder;
    struct told *room;        /* for the changes of a block: VT_WORDS_MAX are more than enough */
    uint32_t *queue, waiting; /* binary heap of lanes: the earliest first; at equal times the lower number first */
    int64_t total[SUMS];
    struct vt_error *error;
};

static int before(const struct join *j, uint32_t a, uint32_t b)
{
    const struct lane *x = &j->lanes[a], *y = &j->lanes[b];
    return x->ns != y->ns ? x->ns < y->ns : a < b;
}

/* Moves the first lane of the queue to its place. */
static void sink(struct join *j)
{
    uint32_t at = 0, moving = j->queue[0];
    for (uint32_t child; (child = 2 * at + 1) < j->waiting; at = child) {
        if (child + 1 < j->waiting && before(j, j->queue[child + 1], j->queue[child])) child++;
        if (!before(j, j->queue[child], moving)) break;
        j->queue[at] = j->queue[child];
    }
    j->queue[at] = moving;
}

static uint64_t time_of(struct lane *l, uint64_t ticks)
{
    int early = 0;
    uint64_t t = vt_times_ns(&l->times, ticks, &early);
    return t < l->ns ? l->ns : t;
}

/* Returns the sums in a record; NULL: none. */
static const uint64_t *sums_of(struct lane *l, uint32_t kind, const uint64_t *w)
{
    switch (kind) {
    case VT_K_LEAVE_ALLOC: return w + 1;
    case VT_K_ENTER_FREE: return w + 2;
    case VT_K_HEAP: return w;
    case VT_K_THREAD: /* the next thread begins at 0; the sums of this thread stay in the total */
        memset(l->last, 0, sizeof l->last);
        return NULL;
    default: return NULL;
    }
}

/* Writes all changes of the decoded block to j->room. Returns their number, -1: damage. */
static int read_block(struct join *j, struct lane *l, const struct vt_row *row)
{
    const uint64_t *words = j->decoder->words;
    uint64_t ticks = row->ticks;
    int count = 0;
    for (uint32_t n = row->raw_bytes / 8, at = 0, size = 1; at < n; at += size) {
        const uint32_t what = (uint32_t)words[at];
        const uint64_t *w = words + at + 1, *sums;
        size = 1;
        ticks += words[at] >> 32;
        if (what & VT_FUNCTION) continue;
        size = vt_record(words, at, n, j->error);
        if (!size) return -1;
        if (VT_KIND(what) == VT_K_TIME) ticks += w[0];
        if (!(sums = sums_of(l, VT_KIND(what), w))) continue;
        struct told *t = &j->room[count++];
        t->ns = l->ns = time_of(l, ticks);
        for (int i = 0; i < SUMS; i++) {
            t->change[i] = (int64_t)(sums[i] - (uint64_t)l->last[i]);
            l->last[i] = (int64_t)sums[i];
        }
    }
    return count;
}

/* Finds the next block of the lane that has changes. Returns VT_OK also if there is none: then count is 0. */
static int next_block(struct join *j, struct lane *l)
{
    free(l->told);
    l->told = NULL;
    l->at = l->count = 0;
    for (; !l->count && l->row < l->stream->count; l->row++) {
        const struct vt_row *row = &l->stream->rows[l->row];
        j->error->row = l->row;
        if (!(row->classes & (VT_CLASS_MEMORY | VT_CLASS_THREAD))) continue;
        if (vt_decode(j->decoder, row, j->error)) return VT_BAD_DATA;
        const int count = read_block(j, l, row);
        if (count < 0) return VT_BAD_DATA;
        vt_release(j->decoder, row);
        if (count && !(l->told = malloc((size_t)count * sizeof *l->told))) return VT_NO_MEMORY;
        if (count) memcpy(l->told, j->room, (size_t)count * sizeof *l->told);
        l->count = (uint32_t)count;
    }
    return VT_OK;
}

static int write_total(struct join *j, void *writer, uint32_t class, uint64_t ns, struct vt_transcoded *result)
{
    uint64_t values[SUMS];
    for (int i = 0; i < SUMS; i++) values[i] = j->total[i] > 0 ? (uint64_t)j->total[i] : 0;
    int32_t code =
        writer ? vt_otf2.EvtWriter_Metric(writer, NULL, ns, class, SUMS, sum_types, (const void *)values) : 0;
    if (code) return vt_refused(j->error, code);
    code = TELL(j, NULL, Metric, ns, class, SUMS, sum_types, (const void *)values);
    if (code) return code;
    if (!result->events++) result->first_ns = ns;
    result->last_ns = ns;
    result->counts[VT_N_EvtWriter_Metric]++;
    return VT_OK;
}

/* Adds the change of a lane to the total, and writes the total if it has changed. */
static int tell(struct join *j, const struct told *t, void *writer, uint32_t class, struct vt_transcoded *result)
{
    int changed = 0;
    for (int i = 0; i < SUMS; i++) {
        j->total[i] = (int64_t)((uint64_t)j->total[i] + (uint64_t)t->change[i]);
        changed |= t->change[i] != 0;
    }
    return changed ? write_total(j, writer, class, t->ns, result) : VT_OK;
}

static int join_all(struct join *j, void *writer, uint32_t class, struct vt_transcoded *result, uint32_t *which)
{
    int code = VT_OK;
    while (!code && j->waiting) {
        struct lane *l = &j->lanes[ *which = j->queue[0]];
        if (l->at < l->count) code = tell(j, &l->told[l->at++], writer, class, result);
        if (!code && l->at == l->count) code = next_block(j, l);
        if (l->at < l->count) l->ns = l->told[l->at].ns;
        else j->queue[0] = j->queue[--j->waiting];
        if (j->waiting) sink(j);
    }
    return code;
}

VT_EXPORT int vt_kernel_heap(void *writer, const struct vt_stream *streams, uint32_t count, const struct vt_maps *maps,
                             uint32_t class, struct vt_batch *batch, vt_batch_full *full, struct vt_transcoded *result,
                             uint32_t *which, struct vt_error *error)
{
    const struct vt_listener listener = {batch, full};
    struct join j = {.listener = batch ? &listener : NULL,
                     .error = error,
                     .lanes = calloc(count + 1, sizeof *j.lanes),
                     .queue = malloc((count + 1) * sizeof *j.queue),
                     .decoder = vt_decoder_new(),
                     .room = malloc(VT_WORDS_MAX * sizeof *j.room)};
    int code = j.lanes && j.queue && j.decoder && j.room ? VT_OK : VT_NO_MEMORY;
    memset(result, 0, sizeof *result);
    *which = 0;
    vt_otf2_forget();
    for (uint32_t i = 0; !code && i < count; i++) {
        struct lane *l = &j.lanes[i];
        l->stream = &streams[i];
        if (!vt_times_begin(&l->times, maps)) {
            code = vt_fail(error, VT_BAD_ARGUMENT, "knots: at least two, ticks ascending, ns not descending");
            break;
        }
        if (streams[i].count) l->ns = time_of(l, streams[i].rows[0].ticks);
        j.queue[j.waiting++] = i;
        for (uint32_t at = i; at && before(&j, j.queue[at], j.queue[(at - 1) / 2]); at = (at - 1) / 2) {
            uint32_t parent = j.queue[(at - 1) / 2];
            j.queue[(at - 1) / 2] = j.queue[at];
            j.queue[at] = parent;
        }
    }
    if (!code) code = join_all(&j, writer, class, result, which);
    for (uint32_t i = 0; j.lanes && i < count; i++) free(j.lanes[i].told);
    vt_decoder_free(j.decoder);
    free(j.room);
    free(j.lanes);
    free(j.queue);
    return code;
}
