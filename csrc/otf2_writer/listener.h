/* SPDX-License-Identifier: BSD-3-Clause */
/* A listener gets the events that a pass writes, as a reader of the archive would, but libotf2 need not decode them. */
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

/* Gives an event to the listener of p, if it has one. */
#define TELL(p, list, event, t, ...)                                                                                   \
    (__builtin_expect(!(p)->listener, 1) ||                                                                            \
             (has_room((p)->listener) &&                                                                               \
              !vt_read_##event(0, t, 0, (p)->listener->batch, list __VA_OPT__(, ) __VA_ARGS__))                        \
         ? VT_OK                                                                                                       \
         : VT_NO_MEMORY)

#endif
