/* SPDX-License-Identifier: BSD-3-Clause */
/* A listener gets the events that a pass writes, like a reader of the archive, but without decoding by libotf2. */
#ifndef VT_LISTENER_H
#define VT_LISTENER_H

#include "../otf2_reader/readback.h"
#include "transcode.h"

struct vt_listener {
    struct vt_batch *batch;
    vt_batch_full *full;
};

/* Returns 0 if a listener cannot take one more event. */
static inline int has_room(const struct vt_listener *listener)
{
    return listener->batch->count < listener->batch->capacity || !listener->full();
}

/* Adds the row of a call without attributes, as vt_read_Enter and vt_read_Leave do. Returns 0 in all unusual cases. */
static inline int add_call(struct vt_batch *b, uint8_t kind, uint64_t t, uint32_t region)
{
    const int64_t ns = (int64_t)(t - b->clock_offset);
    const uint64_t n = b->count;
    if (n == b->capacity || ns < b->last || ns < 0 || ns > VT_READ_LATEST || ns < b->from || ns > b->to || b->skip ||
        b->resolution != VT_READ_NS || !b->wanted[kind])
        return 0;
    b->time[n] = b->last = ns;
    b->ref[n] = region;
    b->kind[n] = kind;
    b->count = n + 1;
    return 1;
}

/* Gives a call to the listener of p, if it has one. Calls are most events: this takes half the time of TELL. */
#define TELL_CALL(p, list, event, t, region)                                                                           \
    ((p)->listener && !(list) && add_call((p)->listener->batch, VT_READ_##event, t, region)                            \
         ? VT_OK                                                                                                       \
         : TELL(p, list, event, t, region))

/* Gives an event to the listener of p, if it has one. */
#define TELL(p, list, event, t, ...)                                                                                   \
    (__builtin_expect(!(p)->listener, 1) ||                                                                            \
             (has_room((p)->listener) &&                                                                               \
              !vt_read_##event(0, t, 0, (p)->listener->batch, list __VA_OPT__(, ) __VA_ARGS__))                        \
         ? VT_OK                                                                                                       \
         : VT_NO_MEMORY)

#endif
