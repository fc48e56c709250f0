/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the operations of a location, and joins the n-th operations of all locations on a communicator to bands. */
#include "bands.h"
#include <stdlib.h>
#include <string.h>
#include "../otf2_writer/containers.h"

#define NO_ROOT 0xfffffffdu /* roots from this value on are no ranks: THIS_GROUP, SELF, UNDEFINED */
#define SHIFT (INT64_C(1) << 61) /* added to times, since the table cannot store 0 */

struct operation_finder {
    struct vt_operations out; /* first: the part that Python sees */
    int64_t *open; /* start times of the open blocking operations, which nest */
    uint64_t room, nopen, open_room;
    struct vt_pair_table started; /* start times of other operations by request */
};

/* The bands of a communicator; of one location, if the communicator has one process. */
struct comm_bands {
    struct vt_band *bands;
    uint64_t count, room;
};

struct vt_bands {
    const uint8_t *alone;
    uint64_t ncomms;
    struct comm_bands *found;
    uint64_t nfound, room;
    struct vt_pair_table places; /* by communicator and location: 1 + the place in found */
};

/* ---- Operations of a location ---- */

/* Keeps the start times in the rows from `from` up to but not including `stop`. Returns 0 without memory. */
static int keep_begins(struct operation_finder *o, const struct vt_batch *b, uint64_t from, uint64_t stop)
{
    const uint8_t *at = b->kind + from;
    while ((at = memchr(at, VT_READ_MpiCollectiveBegin, (size_t)(b->kind + stop - at)))) {
        if (!VT_ROOM(o->open, o->nopen + 1, &o->open_room)) return 0;
        o->open[o->nopen++] = b->time[at++ - b->kind];
    }
    return 1;
}

/* Returns the start time of a request's operation, and forgets the request; returns `end` for an unknown request. */
static int64_t started(struct operation_finder *o, uint64_t request, int64_t end)
{
    const uint64_t begin = vt_pair_table_get(&o->started, request, 0);
    if (!begin) return end;
    vt_pair_table_drop(&o->started, request, 0);
    return (int64_t)begin - SHIFT;
}

static int keep_end(struct operation_finder *o, const struct vt_detail *d, int64_t begin, int64_t end)
{
    if (!VT_ROOM(o->out.list, o->out.count + 1, &o->room)) return 0;
    o->out.list[o->out.count++] = (struct vt_operation){
        begin, end, vt_read_bytes(d->words[2]), vt_read_bytes(d->words[3]), d->words[1], d->ref, (uint32_t)d->words[0]};
    return 1;
}

VT_EXPORT int vt_operations_batch(struct vt_operations *out, const struct vt_batch *b)
{
    struct operation_finder *o = (struct operation_finder *)out;
    uint64_t from = 0;
    for (uint64_t i = 0; i < b->ndetails; i++) {
        const struct vt_detail *d = &b->details[i];
        const int64_t t = b->time[d->row];
        int fine = 1;
        if (d->kind == VT_READ_MpiCollectiveEnd) {
            fine = keep_begins(o, b, from, d->row);
            from = d->row;
            fine = fine && keep_end(o, d, o->nopen ? o->open[--o->nopen] : t, t);
        } else if (d->kind == VT_READ_NonBlockingCollectiveRequest) {
            fine = vt_pair_table_set(&o->started, d->words[0], 0, (uint64_t)(t + SHIFT));
        } else if (d->kind == VT_READ_NonBlockingCollectiveComplete) {
            fine = keep_end(o, d, started(o, d->words[4], t), t);
        }
        if (!fine) return VT_READ_NO_MEMORY;
    }
    return keep_begins(o, b, from, b->count) ? VT_READ_OK : VT_READ_NO_MEMORY;
}

VT_EXPORT void vt_operations_clear(struct vt_operations *out)
{
    struct operation_finder *o = (struct operation_finder *)out;
    out->count = o->nopen = 0;
    vt_pair_table_free(&o->started);
}

VT_EXPORT struct vt_operations *vt_operations_new(void)
{
    struct operation_finder *o = calloc(1, sizeof *o);
    return o ? &o->out : NULL;
}

VT_EXPORT void vt_operations_free(struct vt_operations *out)
{
    struct operation_finder *o = (struct operation_finder *)out;
    if (!o) return;
    vt_operations_clear(out);
    free(out->list);
    free(o->open);
    free(o);
}

/* ---- Bands ---- */

static int by_time(const void *left, const void *right)
{
    const struct vt_operation *a = left, *b = right;
    if (a->comm != b->comm) return a->comm < b->comm ? -1 : 1;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return a->end != b->end ? (a->end < b->end ? -1 : 1) : 0;
}

static void sort(struct vt_operations *o)
{
    uint64_t i = 1;
    while (i < o->count && by_time(&o->list[i - 1], &o->list[i]) <= 0) i++;
    if (i < o->count) qsort(o->list, o->count, sizeof *o->list, by_time);
}

/* Returns NULL without memory. */
static struct comm_bands *bands_of(struct vt_bands *b, uint32_t comm, uint32_t location)
{
    uint64_t place = vt_pair_table_get(&b->places, comm, location);
    if (place) return &b->found[place - 1];
    if (!VT_ROOM(b->found, b->nfound + 1, &b->room) || !vt_pair_table_set(&b->places, comm, location, b->nfound + 1))
        return NULL;
    b->found[b->nfound] = (struct comm_bands){0};
    return &b->found[b->nfound++];
}

static void join(struct vt_band *band, const struct vt_operation *o)
{
    const int64_t root = o->root >= NO_ROOT ? -1 : (int64_t)o->root;
    if ((int64_t)o->op < band->op) band->op = o->op;
    if (root < band->root) band->root = root;
    if (o->begin < band->begin) band->begin = o->begin;
    if (o->begin > band->last_begin) band->last_begin = o->begin;
    if (o->end < band->first_end) band->first_end = o->end;
    if (o->end > band->end) band->end = o->end;
    band->locations++;
    band->sent += o->sent;
    band->received += o->received;
}

/* Adds n operations on one communicator. */
static int add_run(struct vt_bands *b, const struct vt_operation *run, uint64_t n, uint32_t location)
{
    const uint32_t comm = run->comm;
    const int is_own = comm >= b->ncomms || b->alone[comm];
    struct comm_bands *c = bands_of(b, comm, is_own ? location : VT_NONE);
    if (!c || !VT_ROOM(c->bands, n, &c->room)) return 0;
    for (uint64_t i = c->count; i < n; i++)
        c->bands[i] = (struct vt_band){.comm = comm >= b->ncomms ? -1 : (int64_t)comm,
                                       .location = is_own ? (int64_t)location : -1,
                                       .op = INT64_MAX,
                                       .root = INT64_MAX,
                                       .begin = INT64_MAX,
                                       .last_begin = -INT64_MAX,
                                       .first_end = INT64_MAX,
                                       .end = -INT64_MAX};
    if (n > c->count) c->count = n;
    for (uint64_t i = 0; i < n; i++) join(&c->bands[i], &run[i]);
    return 1;
}

VT_EXPORT int vt_bands_add(struct vt_bands *b, struct vt_operations *o, uint32_t location)
{
    for (uint64_t i = 0; i < o->count; i++)
        if (o->list[i].comm >= b->ncomms) o->list[i].comm = VT_NONE;
    sort(o);
    for (uint64_t i = 0, n; i < o->count; i += n) {
        n = 1;
        while (i + n < o->count && o->list[i + n].comm == o->list[i].comm) n++;
        if (!add_run(b, &o->list[i], n, location)) return VT_READ_NO_MEMORY;
    }
    return VT_READ_OK;
}

VT_EXPORT uint64_t vt_bands_count(const struct vt_bands *b)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < b->nfound; i++) n += b->found[i].count;
    return n;
}

VT_EXPORT void vt_bands_copy(const struct vt_bands *b, struct vt_band *to)
{
    for (uint64_t i = 0; i < b->nfound; to += b->found[i++].count)
        if (b->found[i].count) memcpy(to, b->found[i].bands, b->found[i].count * sizeof *to);
}

VT_EXPORT struct vt_bands *vt_bands_new(const uint8_t *alone, uint64_t ncomms)
{
    struct vt_bands *b = calloc(1, sizeof *b);
    if (b) b->alone = alone, b->ncomms = ncomms;
    return b;
}

VT_EXPORT void vt_bands_free(struct vt_bands *b)
{
    if (!b) return;
    for (uint64_t i = 0; i < b->nfound; i++) free(b->found[i].bands);
    free(b->found);
    vt_pair_table_free(&b->places);
    free(b);
}
