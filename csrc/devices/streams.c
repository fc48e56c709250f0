/* SPDX-License-Identifier: BSD-3-Clause */
/* The locations of a queue: each activity takes the first lane that is free at its start. A time that differs from the
   order of the device by the error of its clock is moved. */
#include <stdio.h>
#include "devices.h"

static struct vt_device_lane *lane_for(struct vt_device_queue *q, uint64_t start)
{
    unsigned n = 0;
    while (n < VT_DEVICE_LANES && q->lanes[n].stream && q->lanes[n].end > start) n++;
    if (n == VT_DEVICE_LANES) {
        vt_warn_left_out("library", "more than %u commands of a queue of %s overlap: others are not recorded",
                         VT_DEVICE_LANES, vt_device_api.name);
        return NULL;
    }
    struct vt_device_lane *lane = &q->lanes[n];
    if (lane->stream) return lane;
    char name[64];
    if (n) snprintf(name, sizeof name, "%s lane %u", q->name, n + 1);
    lane->stream = vt_stream_new(n ? name : q->name, q->device, q->begin);
    lane->ticks = q->begin;
    return lane->stream ? lane : NULL;
}

/* Adds the attributes of an activity. Returns the number of words. */
static unsigned attributes(uint64_t *words, const struct vt_device_activity *a)
{
    const uint64_t values[VT_DEVICE_ATTRIBUTES] = {
        [VT_DEVICE_COMMAND] = a->number,
        [VT_DEVICE_BYTES] = a->bytes,
        [VT_DEVICE_QUEUED] = a->start > a->queued ? a->start - a->queued : 0,
        [VT_DEVICE_SUBMITTED] = a->start > a->submitted ? a->start - a->submitted : 0,
    };
    const int is_known[VT_DEVICE_ATTRIBUTES] = {
        [VT_DEVICE_COMMAND] = a->number != 0,
        [VT_DEVICE_BYTES] = a->bytes != 0,
        [VT_DEVICE_QUEUED] = a->queued != 0,
        [VT_DEVICE_SUBMITTED] = a->submitted != 0,
    };
    unsigned n = 0;
    for (unsigned i = 0; i < VT_DEVICE_ATTRIBUTES; i++) {
        if (!is_known[i]) continue;
        words[n++] = VT_HEAD(VT_K_ATTRIBUTE, 1, vt_device_attribute(i));
        words[n++] = values[i];
    }
    return n;
}

void vt_device_record(struct vt_device_queue *q, const struct vt_device_activity *a)
{
    struct vt_device_lane *lane = lane_for(q, a->start);
    if (!lane) return;
    uint64_t start = vt_device_clock_ticks(q->clock, a->start), end = vt_device_clock_ticks(q->clock, a->end);
    if (start < lane->ticks) start = lane->ticks;
    if (end < start) end = start;
    uint64_t words[2 * VT_DEVICE_ATTRIBUTES + 1];
    unsigned n = attributes(words, a);
    words[n++] = VT_HEAD(VT_K_ENTER, 0, a->region);
    vt_stream_write(lane->stream, words, n, start);
    uint64_t leave = VT_HEAD(VT_K_LEAVE, 0, a->region);
    vt_stream_write(lane->stream, &leave, 1, end);
    lane->end = a->end;
    lane->ticks = end;
}
