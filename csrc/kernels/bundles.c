/* SPDX-License-Identifier: BSD-3-Clause */
/* Times increase, so only the latest bundle of each communicator and receiver can get another send. */
#include "bands.h"
#include <stdlib.h>
#include "../otf2_writer/containers.h"

struct bundle_maker {
    struct vt_bundles out; /* first: the part that Python sees */
    uint64_t room;
    struct vt_pair_table latest; /* by communicator and receiver: 1 + the place in the list */
};

/* Returns the bundle for a send, NULL without memory. */
static struct vt_bundle *bundle_of(struct bundle_maker *b, uint64_t bin, uint32_t comm, uint32_t peer)
{
    struct vt_bundles *o = &b->out;
    uint64_t *latest = vt_pair_table_find(&b->latest, comm, peer);
    if (latest && o->list[*latest - 1].bin == bin) return &o->list[*latest - 1];
    if (!VT_ROOM(o->list, o->count + 1, &b->room)) return NULL;
    o->list[o->count++] = (struct vt_bundle){.bin = bin, .comm = comm, .peer = peer};
    if (latest) *latest = o->count;
    else if (!vt_pair_table_set(&b->latest, comm, peer, o->count)) return NULL;
    return &o->list[o->count - 1];
}

VT_EXPORT int vt_bundles_batch(struct vt_bundles *out, const struct vt_batch *batch)
{
    for (uint64_t i = 0; i < batch->ndetails; i++) {
        const struct vt_detail *d = &batch->details[i];
        if (d->kind != VT_READ_MpiSend && d->kind != VT_READ_MpiIsend) continue;
        const int64_t t = batch->time[d->row], time = t < 0 ? 0 : t > out->end ? out->end : t;
        const uint64_t bin = (uint64_t)time >> out->level;
        struct vt_bundle *bundle = bundle_of((struct bundle_maker *)out, bin, d->ref, (uint32_t)d->words[0]);
        if (!bundle) return VT_READ_NO_MEMORY;
        bundle->count++;
        bundle->bytes += vt_read_bytes(d->words[2]);
    }
    return VT_READ_OK;
}

VT_EXPORT void vt_bundles_clear(struct vt_bundles *out)
{
    out->count = 0;
    vt_pair_table_free(&((struct bundle_maker *)out)->latest);
}

VT_EXPORT struct vt_bundles *vt_bundles_new(uint64_t level, int64_t end)
{
    struct bundle_maker *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->out.level = level;
    b->out.end = end;
    return &b->out;
}

VT_EXPORT void vt_bundles_free(struct vt_bundles *out)
{
    if (!out) return;
    vt_bundles_clear(out);
    free(out->list);
    free(out);
}
