/* SPDX-License-Identifier: BSD-3-Clause */
/* The heap of a process: each thread's records tell that thread's sums, whose sum at a moment is the process's. The
   threads' streams are joined by time, block by block, so that memory use stays flat for any length.              */
#include <stdlib.h>
#include "times.h"
#include "transcode.h"

#define SUMS 2 /* bytes, blocks */
static const uint8_t sum_types[SUMS] = {VT_OTF2_TYPE_UINT64, VT_OTF2_TYPE_UINT64};

struct lane { /* one location */
    const struct vt_stream *stream;
    struct vt_decoder *decoder; /* of the block that is read */
    struct vt_times times;
    uint32_t row, at;           /* next block; next word in the one that is read */
    uint64_t ticks, ns;         /* of the newest record; when next is told, or before the first block its begin */
    int64_t told[SUMS], next[SUMS]; /* the thread's sums: added to the total, and not yet */
    int reading;
};

struct join {
    struct lane *lanes;
    uint32_t *queue, waiting; /* binary heap of lanes: the earliest first, of equal ones the lower number */
    int64_t total[SUMS];
    struct vt_error *error;
};

static int before(const struct join *j, uint32_t a, uint32_t b)
{
    const struct lane *x = &j->lanes[a], *y = &j->lanes[b];
    return x->ns != y->ns ? x->ns < y->ns : a < b;
}

/* Puts the first of the queue to where it belongs. */
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
    return t < l->ns || early ? l->ns : t;
}

/* What a record says of the sums: into next, 1; 0 if nothing. */
static int tells(struct lane *l, uint32_t kind, const uint64_t *w)
{
    const uint64_t *sums;
    switch (kind) {
    case VT_K_LEAVE_ALLOC: sums = w + 1; break;
    case VT_K_ENTER_FREE: sums = w + 2; break;
    case VT_K_HEAP: sums = w; break;
    case VT_K_THREAD: /* the next one begins at nothing; what this one left stays in the total */
        memset(l->told, 0, sizeof l->told);
        return 0;
    default: return 0;
    }
    for (int i = 0; i < SUMS; i++) l->next[i] = (int64_t)sums[i];
    return 1;
}

/* Goes on in the block that is read. 1: next and ns are set; 0: it is at its end; -1: damage. */
static int next_record(struct lane *l, struct vt_error *error)
{
    const uint64_t *words = l->decoder->words;
    uint32_t n = l->stream->rows[l->row].raw_bytes / 8;
    while (l->at < n) {
        uint32_t what = (uint32_t)words[l->at], size = 1;
        const uint64_t *w = words + l->at + 1;
        l->ticks += words[l->at] >> 32;
        if (!(what & VT_FUNCTION)) {
            size = vt_record(words, l->at, n, error);
            if (!size) return -1;
            if (VT_KIND(what) == VT_K_TIME) l->ticks += w[0];
        }
        l->at += size;
        if (!(what & VT_FUNCTION) && tells(l, VT_KIND(what), w)) {
            l->ns = time_of(l, l->ticks);
            return 1;
        }
    }
    return 0;
}

/* Finds the lane's next record that tells its sums. 1: there is one; 0: no more; -1: damage. */
static int advance(struct lane *l, struct vt_error *error)
{
    if (!l->decoder && !(l->decoder = vt_decoder_new())) return -1;
    for (; l->row < l->stream->count; l->row++) {
        const struct vt_row *row = &l->stream->rows[l->row];
        error->row = l->row;
        if (!l->reading) {
            if (!(row->classes & (VT_CLASS_MEMORY | VT_CLASS_THREAD))) continue;
            if (vt_decode(l->decoder, row, error)) return -1;
            l->ticks = row->ticks;
            l->at = 0;
            l->reading = 1;
        }
        int found = next_record(l, error);
        if (found) return found;
        vt_release(l->decoder, row);
        l->reading = 0;
    }
    return 0;
}

static int write_total(struct join *j, void *writer, uint32_t class, uint64_t ns, struct vt_transcoded *result)
{
    uint64_t values[SUMS];
    for (int i = 0; i < SUMS; i++) values[i] = j->total[i] > 0 ? (uint64_t)j->total[i] : 0;
    if (!result->events++) result->first_ns = ns;
    result->last_ns = ns;
    result->counts[VT_N_EvtWriter_Metric]++;
    int32_t code = vt_otf2.EvtWriter_Metric(writer, NULL, ns, class, SUMS, sum_types, (const void *)values);
    return code ? vt_refused(j->error, code) : VT_OK;
}

/* Adds what a lane tells to the total; writes that when it has changed. */
static int tell(struct join *j, struct lane *l, void *writer, uint32_t class, struct vt_transcoded *result)
{
    int changed = 0;
    for (int i = 0; i < SUMS; i++) {
        int64_t change = (int64_t)((uint64_t)l->next[i] - (uint64_t)l->told[i]);
        j->total[i] = (int64_t)((uint64_t)j->total[i] + (uint64_t)change);
        l->told[i] = l->next[i];
        changed |= change != 0;
    }
    return changed ? write_total(j, writer, class, l->ns, result) : VT_OK;
}

static int join_all(struct join *j, void *writer, uint32_t class, struct vt_transcoded *result, uint32_t *which)
{
    int code = VT_OK;
    while (!code && j->waiting) {
        struct lane *l = &j->lanes[ *which = j->queue[0]];
        if (l->reading) code = tell(j, l, writer, class, result);
        int more = code ? 0 : advance(l, j->error);
        if (more < 0) return l->decoder ? VT_BAD_DATA : VT_NO_MEMORY;
        if (!more) {
            vt_decoder_free(l->decoder);
            l->decoder = NULL;
            j->queue[0] = j->queue[--j->waiting];
        }
        if (j->waiting) sink(j);
    }
    return code;
}

VT_EXPORT int vt_kernel_heap(void *writer, const struct vt_stream *streams, uint32_t count, const struct vt_maps *maps,
                             uint32_t class, struct vt_transcoded *result, uint32_t *which, struct vt_error *error)
{
    struct join j = {
        .error = error, .lanes = calloc(count + 1, sizeof *j.lanes), .queue = malloc((count + 1) * sizeof *j.queue)};
    int code = j.lanes && j.queue ? VT_OK : VT_NO_MEMORY;
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
    for (uint32_t i = 0; j.lanes && i < count; i++) vt_decoder_free(j.lanes[i].decoder);
    free(j.lanes);
    free(j.queue);
    return code;
}
