/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes checkpoints. A checkpoint stores only the calls that changed since the previous checkpoint: all calls outside
   the deepest common call are the same, including the times of their children. */
#include "../otf2_writer/containers.h"
#include "stack_replay.h"
#include <stdlib.h>
#include <string.h>

static int is_same(const struct vt_checkpoint_call *a, const struct vt_checkpoint_call *b)
{
    return a->number == b->number && a->inside == b->inside;
}

int vt_checkpoints_take(struct vt_checkpoints *c, uint64_t number, int64_t time, const struct vt_checkpoint_call *stack,
                        uint64_t depth)
{
    uint64_t common = 0;
    if (depth > UINT32_MAX) return 1;
    if (c->taken++ % VT_CHECKPOINT_BLOCK)
        while (common < depth && common < c->last_depth && is_same(&stack[common], &c->last[common])) common++;
    const uint64_t fresh = depth - common;
    if (!VT_ROOM(c->list, c->count + 1, &c->list_room) || !VT_ROOM(c->calls, c->ncalls + fresh, &c->calls_room) ||
        !VT_ROOM(c->last, depth, &c->last_room))
        return 0;
    c->list[c->count++] = (struct vt_checkpoint){number, time, (uint32_t)depth, (uint32_t)common};
    if (fresh) {
        memcpy(c->calls + c->ncalls, stack + common, fresh * sizeof *stack);
        memcpy(c->last + common, stack + common, fresh * sizeof *stack);
    }
    c->ncalls += fresh;
    c->last_depth = depth;
    c->next = number + VT_CHECKPOINT_EVENTS;
    return 1;
}

void vt_checkpoints_begin(struct vt_checkpoints *c)
{
    c->count = c->ncalls = c->taken = c->last_depth = 0;
    c->next = 1 + VT_CHECKPOINT_EVENTS;
}

struct vt_checkpoints *vt_checkpoints_new(void) { return calloc(1, sizeof(struct vt_checkpoints)); }

void vt_checkpoints_free(struct vt_checkpoints *c)
{
    if (!c) return;
    free(c->list);
    free(c->calls);
    free(c->last);
    free(c);
}
