/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include "channels.h"

#define CHANNELS 4096u /* number of channels that may stay without messages */

struct vt_queue *vt_channels_at(const struct vt_channels *c, uint64_t place)
{
    return (struct vt_queue *)(uintptr_t)c->queues.entries[place].value;
}

/* Removes channels without messages, so that tags that are used once take no memory. */
static int sweep(struct vt_channels *c)
{
    struct vt_pair_table kept = {NULL, 0, 0};
    for (uint64_t k = 0; k < c->queues.size; k++) {
        const struct vt_entry *entry = &c->queues.entries[k];
        const struct vt_queue *q = vt_channels_at(c, k);
        if (q && q->first && !vt_pair_table_set(&kept, entry->a, entry->b, entry->value)) {
            vt_pair_table_free(&kept);
            return 0;
        }
    }
    for (uint64_t k = 0; k < c->queues.size; k++) {
        struct vt_queue *q = vt_channels_at(c, k);
        if (q && !q->first) free(q);
    }
    vt_pair_table_free(&c->queues);
    c->queues = kept;
    c->many = 2 * kept.count + CHANNELS;
    return 1;
}

struct vt_queue *vt_channels_get(struct vt_channels *c, uint32_t from, uint32_t to, uint32_t comm, uint32_t tag)
{
    const uint64_t a = (uint64_t)from << 32 | to, b = (uint64_t)comm << 32 | tag;
    struct vt_queue *q = (struct vt_queue *)(uintptr_t)vt_pair_table_get(&c->queues, a, b);
    if (q) return q;
    if (c->queues.count >= c->many && !sweep(c)) return NULL;
    if (!(q = calloc(1, sizeof *q))) return NULL;
    if (vt_pair_table_set(&c->queues, a, b, (uintptr_t)q)) return q;
    free(q);
    return NULL;
}

void vt_channels_free(struct vt_channels *c)
{
    for (uint64_t k = 0; k < c->queues.size; k++) free(vt_channels_at(c, k));
    vt_pair_table_free(&c->queues);
}
