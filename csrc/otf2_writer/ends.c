/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the ends of messages and collectives in the records of one process, for repair.c. The order of receives is that
   in which they are posted, but the sender is known only when a receive completes. So ends.c leaves a place at the post
   and fills the place in later, in memory or in the file. The start of a collective is handled in the same way. A
   request may complete on a location other than the one that started the request. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>
#include "repair.h"
#include "containers.h"

#define PIECE 8192u /* ends */
#define CLASSES (VT_CLASS_MESSAGE | VT_CLASS_COLLECTIVE | VT_CLASS_USER | VT_CLASS_RMA)

struct finder {
    const struct vt_maps *maps;
    const struct vt_parts *parts;
    struct vt_ends *ends;
    struct vt_error *error;
    struct vt_times times;
    struct vt_pair_table open; /* request -> 1 + its place in the file, or 1 + index of an early end | EARLY */
    struct vt_end *early; /* ends of requests that begin on a later location */
    uint64_t nearly, capacity;
    struct vt_pair_table cancelled; /* requests, perhaps of sends */
    struct vt_pair_table issued; /* local windows with operations of this location since the location's last fence */
    uint64_t messages; /* number of messages of the user API so far */
    struct vt_end *buffer;
    uint64_t base, ticks, last; /* base: offset of buffer in the file; last: time of the location's latest end */
    uint64_t alone; /* place of the open blocking collective */
    uint32_t n, size, location;
};

#define EARLY (1ull << 62)

static int begin_piece(struct finder *f)
{
    f->base = __atomic_fetch_add(f->ends->top, f->size * sizeof *f->buffer, __ATOMIC_RELAXED);
    f->n = 0;
    return VT_OK;
}

static int write_at(struct finder *f, const struct vt_end *from, uint64_t n, uint64_t offset)
{
    const char *p = (const char *)from;
    for (size_t left = n * sizeof *from; left;) {
        ssize_t done = pwrite(f->ends->file, p, left, (off_t)offset);
        if (done <= 0) return VT_NO_SPACE;
        p += done;
        offset += (uint64_t)done;
        left -= (size_t)done;
    }
    return VT_OK;
}

static int end_piece(struct finder *f)
{
    struct vt_ends *ends = f->ends;
    if (!f->n) return VT_OK;
    if (!VT_ROOM_FOR_NEXT(ends->pieces, ends->npieces)) return VT_NO_MEMORY;
    ends->pieces[ends->npieces++] = (struct vt_piece){f->base, (uint32_t)ends->process, f->location, f->n, 0};
    return write_at(f, f->buffer, f->n, f->base);
}

/* The time of an end: like the time of an event, never before the previous end. In damaged files ticks may descend. */
static uint64_t now(struct finder *f)
{
    int early = 0;
    const uint64_t ns = vt_times_ns(&f->times, f->ticks, &early);
    if (ns > f->last) f->last = ns;
    return f->last;
}

/* place: gets the place of the end in the file, unless NULL. */
static int put(struct finder *f, struct vt_end end, uint64_t *place)
{
    int code = VT_OK;
    if (f->n == f->size) {
        if ((code = end_piece(f))) return code;
        begin_piece(f);
    }
    end.ns = now(f);
    if (place) *place = f->base + f->n * sizeof end;
    f->buffer[f->n++] = end;
    return VT_OK;
}

/* Fills in all but the time of a place that was left open. */
static int fill(struct finder *f, uint64_t place, struct vt_end end)
{
    if (place >= f->base && place < f->base + f->n * sizeof end) {
        struct vt_end *here = &f->buffer[(place - f->base) / sizeof end];
        end.ns = here->ns;
        *here = end;
        return VT_OK;
    }
    ssize_t got = pread(f->ends->file, &end.ns, sizeof end.ns, (off_t)place);
    return got == sizeof end.ns ? write_at(f, &end, 1, place) : VT_NO_SPACE;
}

/* Handles the start of a request: writes its end if the end is known already, else leaves a place. */
static int open_request(struct finder *f, uint64_t request, uint32_t kind)
{
    uint64_t place, known = vt_pair_table_get(&f->open, request, kind);
    if (known & EARLY) {
        vt_pair_table_drop(&f->open, request, kind);
        return put(f, f->early[(known & ~EARLY) - 1], NULL);
    }
    int code = put(f, (struct vt_end){.request = request}, &place);
    return code ? code : vt_pair_table_set(&f->open, request, kind, place + 1) ? VT_OK : VT_NO_MEMORY;
}

static int close_request(struct finder *f, struct vt_end end)
{
    uint32_t kind = end.what & 15;
    uint64_t place = vt_pair_table_get(&f->open, end.request, kind);
    if (place & EARLY) return VT_OK; /* the request ends twice: the records are damaged */
    if (place) {
        vt_pair_table_drop(&f->open, end.request, kind);
        return fill(f, place - 1, end);
    }
    if (!VT_ROOM(f->early, f->nearly + 1, &f->capacity)) return VT_NO_MEMORY;
    f->early[f->nearly++] = end;
    return vt_pair_table_set(&f->open, end.request, kind, f->nearly | EARLY) ? VT_OK : VT_NO_MEMORY;
}

/* Returns the process of a rank in a communicator; VT_UNMAPPED: none. rank: as in records. */
static uint32_t process_of(const struct finder *f, uint32_t what, uint32_t rank)
{
    uint32_t local = VT_ID(what), comm = local < f->maps->ncomms ? f->maps->comms[local] : VT_UNMAPPED;
    if (comm == VT_UNMAPPED || comm >= f->parts->ncomms) return VT_UNMAPPED;
    uint64_t at = f->parts->comm_first[comm], end = f->parts->comm_first[comm + 1];
    uint64_t place = (uint64_t)rank + f->maps->comm_peer_offset[local];
    return place < end - at ? f->parts->comm_members[at + place] : VT_UNMAPPED;
}

/* Returns 1 if the two ends are on different clocks. */
static int is_between(const struct finder *f, uint32_t peer)
{
    if (peer >= f->parts->nprocesses || f->parts->clocks[peer] == VT_UNMAPPED) return 0;
    return f->parts->clocks[peer] != f->parts->clocks[f->ends->process];
}

static int message(struct finder *f, uint32_t what, const uint64_t *w)
{
    uint32_t kind = VT_KIND(what), peer = process_of(f, what, (uint32_t)w[0]);
    if (!is_between(f, peer)) {
        if (kind == VT_K_IRECV) vt_pair_table_drop(&f->open, w[2], VT_END_POST);
        return VT_OK;
    }
    struct vt_end end = {.comm = f->maps->comms[VT_ID(what)], .peer = peer, .tag = (uint32_t)(w[0] >> 32)};
    uint32_t bytes = (w[1] > VT_END_BYTES_MAX ? VT_END_BYTES_MAX : (uint32_t)w[1]) << 4;
    if (kind == VT_K_ISEND) end.request = w[2];
    if (kind == VT_K_SEND || kind == VT_K_ISEND) end.what = VT_END_SEND | bytes;
    else end.what = VT_END_RECEIVE | bytes;
    if (kind != VT_K_IRECV) return put(f, end, NULL);
    end.request = w[2];
    end.what = VT_END_POST | bytes;
    int code = close_request(f, end);
    end.what = VT_END_DONE | bytes;
    return code ? code : put(f, end, NULL);
}

/* Returns the flow of an OTF2_CollectiveOp. neighbours: the operation may be among neighbours only. For operations
   among neighbours, ALLTOALLV and ALLTOALLW the senders of a process are unknown, unless from_all. */
static enum vt_end_flow flow_of(uint32_t op, int neighbours, int from_all)
{
    if (op >= 6 && op <= 10 && (neighbours || op >= 9)) return from_all ? VT_FLOW_ALL : VT_FLOW_NONE;
    switch (op) {
    case 0: /* Barrier */
    case 6: /* Allgather */
    case 7:
    case 8: /* Alltoall */
    case 11: /* Allreduce */
    case 13: /* Reduce_scatter */
    case 16: return VT_FLOW_ALL;
    case 1: /* Bcast */
    case 4: /* Scatter */
    case 5: return VT_FLOW_FROM_ROOT;
    case 2: /* Gather */
    case 3:
    case 12: return VT_FLOW_TO_ROOT; /* Reduce */
    case 14: /* Scan */
    case 15: return VT_FLOW_PREFIX; /* Exscan */
    default: return VT_FLOW_NONE;
    }
}

/* Completes the BEGIN of a collective with the values that are known at its end. */
static int both_ends(struct finder *f, struct vt_end end)
{
    const int aside = (end.tag & VT_END_ASIDE) != 0;
    int code = VT_OK;
    end.what = VT_END_BEGIN;
    if (aside) code = close_request(f, end);
    else if (!f->alone) return VT_OK; /* the start is lost */
    else {
        const uint64_t place = f->alone - 1;
        if (f->n && place == f->base + (f->n - 1) * sizeof end) end.request = now(f);
        f->alone = 0;
        code = fill(f, place, end);
        if (end.request) return code;
    }
    end.what = VT_END_END;
    return code ? code : put(f, end, NULL);
}

static int collective(struct finder *f, uint32_t what, const uint64_t *w)
{
    const int aside = VT_KIND(what) == VT_K_COLL_COMPLETE;
    uint32_t local = VT_ID(what), comm = local < f->maps->ncomms ? f->maps->comms[local] : VT_UNMAPPED;
    const uint64_t request = aside ? w[3] : 0;
    if (comm >= f->parts->ncomms || !f->parts->comm_repaired[comm]) {
        if (aside) vt_pair_table_drop(&f->open, request, VT_END_BEGIN);
        return VT_OK;
    }
    const uint32_t op = (uint32_t)w[0] & ~VT_FROM_ALL, root = (uint32_t)(w[0] >> 32);
    const uint32_t flow = flow_of(op, f->parts->comm_repaired[comm] == 2, (w[0] & VT_FROM_ALL) != 0);
    uint32_t gives = w[1] || !op ? VT_END_GIVES : 0, takes = w[2] || !op ? VT_END_TAKES : 0;
    struct vt_end end = {.request = request, .comm = comm, .peer = process_of(f, what, root)};
    if (flow == VT_FLOW_PREFIX) end.peer = local < f->maps->ncomm_ranks ? f->maps->comm_ranks[local] : VT_UNMAPPED;
    end.tag = flow | gives | takes | (aside ? VT_END_ASIDE : 0) | op << 8;
    return both_ends(f, end);
}

/* Fences and the ends of windows; see docs/clocks.md. */
static int window(struct finder *f, uint32_t what, const uint64_t *w)
{
    const uint32_t local = VT_ID(what), op = (uint32_t)w[0];
    const uint64_t win = local < f->maps->nwindows ? f->maps->windows[local] : VT_UNMAPPED;
    const uint64_t comm = f->parts->first_window + win;
    const int fences = vt_pair_table_get(&f->issued, local, 0) != 0;
    if (!op) vt_pair_table_drop(&f->issued, local, 0);
    if (comm >= f->parts->ncomms || !f->parts->comm_repaired[comm]) {
        f->alone = 0;
        return VT_OK;
    }
    struct vt_end end = {.comm = (uint32_t)comm, .peer = VT_UNMAPPED};
    end.tag = VT_FLOW_NONE | VT_END_GIVES | op << 8;
    /* An operation begins between two fences, so the second one has no MPI_MODE_NOPRECEDE. */
    if (!op ? fences : op == 18 || op == 22) end.tag |= VT_FLOW_ALL | VT_END_TAKES;
    return both_ends(f, end);
}

/* A message of the user API: the first pass has found the other end. */
static int user_message(struct finder *f, uint32_t what, const uint64_t *w)
{
    const uint64_t at = f->messages++, local = VT_ID(what);
    const uint32_t peer = at < f->maps->nuser_peers ? f->maps->user_peers[at] : VT_UNMAPPED;
    if (local >= f->maps->nuser_comms || f->maps->user_comms[local] == VT_UNMAPPED || !is_between(f, peer))
        return VT_OK;
    struct vt_end end = {.comm = f->maps->user_comms[local], .peer = peer, .tag = (uint32_t)w[0]};
    end.what = VT_KIND(what) == VT_K_USER_SEND ? VT_END_SEND : VT_END_RECEIVE;
    return put(f, end, NULL);
}

static int cancel(struct finder *f, uint64_t request)
{
    if (vt_pair_table_get(&f->open, request, VT_END_POST) || vt_pair_table_get(&f->open, request, VT_END_BEGIN)) {
        vt_pair_table_drop(&f->open, request, VT_END_POST);
        vt_pair_table_drop(&f->open, request, VT_END_BEGIN);
        return VT_OK;
    }
    return !request || vt_pair_table_set(&f->cancelled, request, 0, 1) ? VT_OK : VT_NO_MEMORY;
}

/* No process receives a message whose send was cancelled (MPI 4.0, 3.8.4): the next send of the channel matches
   instead. Cancelled sends are rare, so the ends are read again to remove them. */
static int drop_cancelled(struct finder *f)
{
    for (uint64_t k = 0; f->cancelled.count && k < f->ends->npieces; k++) {
        const struct vt_piece *p = &f->ends->pieces[k];
        const ssize_t bytes = (ssize_t)(p->count * sizeof *f->buffer);
        if (pread(f->ends->file, f->buffer, (size_t)bytes, (off_t)p->offset) != bytes) return VT_NO_SPACE;
        int found = 0;
        for (uint32_t i = 0; i < p->count; i++) {
            struct vt_end *end = &f->buffer[i];
            if ((end->what & 15) != VT_END_SEND || !vt_pair_table_get(&f->cancelled, end->request, 0)) continue;
            end->what = VT_END_NONE;
            found = 1;
        }
        if (found && write_at(f, f->buffer, p->count, p->offset)) return VT_NO_SPACE;
    }
    return VT_OK;
}

static int record(struct finder *f, uint32_t what, const uint64_t *w)
{
    switch (VT_KIND(what)) {
    case VT_K_TIME: f->ticks += w[0]; return VT_OK;
    case VT_K_SEND:
    case VT_K_RECV:
    case VT_K_ISEND:
    case VT_K_IRECV: return message(f, what, w);
    case VT_K_IRECV_REQUEST: return open_request(f, w[0], VT_END_POST);
    case VT_K_COLL_REQUEST: return open_request(f, w[0], VT_END_BEGIN);
    case VT_K_REQUEST_CANCELLED: return cancel(f, w[0]);
    case VT_K_RMA_PUT:
    case VT_K_RMA_GET:
    case VT_K_RMA_ATOMIC: return vt_pair_table_set(&f->issued, VT_ID(what), 0, 1) ? VT_OK : VT_NO_MEMORY;
    case VT_K_RMA_COLL_END: return window(f, what, w);
    case VT_K_USER_SEND:
    case VT_K_USER_RECV: return user_message(f, what, w);
    case VT_K_RMA_COLL_BEGIN:
    case VT_K_COLL_BEGIN: {
        int code = put(f, (struct vt_end){.request = 0}, &f->alone);
        f->alone++;
        return code;
    }
    case VT_K_COLL_END:
    case VT_K_COLL_COMPLETE: return collective(f, what, w);
    default: return VT_OK;
    }
}

static int read_rows(struct finder *f, struct vt_decoder *d, const struct vt_row *rows, uint32_t count)
{
    int code = VT_OK;
    for (uint32_t i = 0; !code && i < count; i++) {
        if (!(rows[i].classes & CLASSES)) continue;
        f->error->row = i;
        if ((code = vt_decode(d, &rows[i], f->error))) break;
        f->ticks = rows[i].ticks;
        const uint32_t n = rows[i].raw_bytes / 8;
        for (uint32_t at = 0, size = 1; !code && at < n; at += size, size = 1) {
            uint32_t what = (uint32_t)d->words[at];
            f->ticks += d->words[at] >> 32;
            if (what & VT_FUNCTION) continue;
            if (!(size = vt_record(d->words, at, n, f->error))) return VT_BAD_DATA;
            code = record(f, what, d->words + at + 1);
        }
        vt_release(d, &rows[i]);
    }
    return code;
}

/* Returns an upper bound of the ends in the rows, so that small locations take little of the file. */
static uint32_t room(const struct vt_stream *s)
{
    uint64_t words = 0;
    for (uint32_t i = 0; i < s->count && words < 2 * PIECE; i++)
        if (s->rows[i].classes & CLASSES) words += s->rows[i].raw_bytes / 8;
    return words / 2 + 1 < PIECE ? (uint32_t)(words / 2 + 1) : PIECE;
}

VT_EXPORT int vt_kernel_ends(const struct vt_stream *streams, uint32_t count, const struct vt_maps *maps,
                             const struct vt_parts *parts, struct vt_ends *ends, uint32_t *which,
                             struct vt_error *error)
{
    struct finder f = {.maps = maps, .parts = parts, .ends = ends, .error = error};
    int code = VT_NO_MEMORY;
    if (!vt_times_begin(&f.times, maps)) return vt_fail(error, VT_BAD_ARGUMENT, "knots");
    struct vt_decoder *d = vt_decoder_new();
    f.buffer = malloc(PIECE * sizeof *f.buffer);
    if (d && f.buffer) code = VT_OK;
    for (*which = 0; !code && *which < count; ++*which) {
        const struct vt_stream *s = &streams[*which];
        if (!s->count) continue;
        f.location = s->rows[0].location;
        f.size = room(s);
        f.alone = f.last = 0;
        vt_pair_table_free(&f.issued);
        begin_piece(&f);
        code = read_rows(&f, d, s->rows, s->count);
        if (!code) code = end_piece(&f);
        if (code) break;
    }
    if (!code) code = drop_cancelled(&f);
    vt_pair_table_free(&f.open);
    vt_pair_table_free(&f.cancelled);
    vt_pair_table_free(&f.issued);
    free(f.early);
    free(f.buffer);
    if (d) vt_decoder_free(d);
    return code;
}

VT_EXPORT void vt_kernel_ends_free(struct vt_ends *ends)
{
    free(ends->pieces);
    ends->pieces = NULL;
}
