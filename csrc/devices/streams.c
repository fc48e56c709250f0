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

/* A copy is one-sided communication of the stream, as Score-P writes it: a Get from the host, a Put to the host, or a Get
   from the stream itself within the device. Other copies have a side that is not known. Adds the start of the copy,
   whose matching number is unique in the process. Returns the number of words. */
static unsigned start_copy(uint64_t *words, const struct vt_device_lane *lane, const struct vt_device_activity *a,
                           uint64_t matching)
{
    const int is_put = a->action == VT_DEVICE_TO_HOST;
    const uint32_t peer = a->action == VT_DEVICE_ON_DEVICE ? vt_stream_number(lane->stream) : a->host;
    words[0] = is_put ? VT_HEAD(VT_K_RMA_PUT, 3, lane->window) : VT_HEAD(VT_K_RMA_GET, 3, lane->window);
    words[1] = peer;
    words[2] = a->bytes;
    words[3] = matching;
    return 4;
}

static int is_one_sided(const struct vt_device_activity *a)
{
    if (!a->bytes || a->host == VT_NO_LOCATION) return 0;
    return a->action == VT_DEVICE_TO_DEVICE || a->action == VT_DEVICE_TO_HOST || a->action == VT_DEVICE_ON_DEVICE;
}

static void use_window(struct vt_device_lane *lane, uint64_t ticks)
{
    if (lane->window || !(lane->window = vt_device_window())) return;
    uint64_t word = VT_HEAD(VT_K_RMA_WIN_CREATE, 0, lane->window);
    vt_stream_write(lane->stream, &word, 1, ticks);
}

void vt_device_record(struct vt_device_queue *q, const struct vt_device_activity *a)
{
    static _Atomic uint64_t copies;
    struct vt_device_lane *lane = lane_for(q, a->start);
    if (!lane) return;
    uint64_t start = vt_device_clock_ticks(q->clock, a->start), end = vt_device_clock_ticks(q->clock, a->end);
    if (start < lane->ticks) start = lane->ticks;
    if (end < start) end = start;
    if (is_one_sided(a)) use_window(lane, start);
    const uint64_t matching = is_one_sided(a) && lane->window ? atomic_fetch_add(&copies, 1) + 1 : 0;
    uint64_t words[2 * VT_DEVICE_ATTRIBUTES + 5];
    unsigned n = attributes(words, a);
    words[n++] = VT_HEAD(VT_K_ENTER, 0, a->region);
    if (matching) n += start_copy(&words[n], lane, a, matching);
    vt_stream_write(lane->stream, words, n, start);
    uint64_t last[] = {VT_HEAD(VT_K_RMA_COMPLETE_BLOCKING, 1, lane->window), matching,
                       VT_HEAD(VT_K_LEAVE, 0, a->region)};
    if (matching) vt_stream_write(lane->stream, last, 3, end);
    else vt_stream_write(lane->stream, &last[2], 1, end);
    lane->end = a->end;
    lane->ticks = end;
}

void vt_device_count(struct vt_device_queue *q, uint32_t counter, uint64_t value, uint64_t time)
{
    struct vt_device_lane *lane = lane_for(q, UINT64_MAX); /* the first one is free then */
    uint64_t words[] = {VT_HEAD(VT_K_METRIC, 1, counter), value}, ticks = vt_device_clock_ticks(q->clock, time);
    if (!lane) return;
    if (ticks < lane->ticks) ticks = lane->ticks;
    vt_stream_write(lane->stream, words, 2, ticks);
    lane->ticks = ticks;
}

void vt_device_end(struct vt_device_queue *q)
{
    for (struct vt_device_lane *lane = q->lanes; lane < &q->lanes[VT_DEVICE_LANES] && lane->stream; lane++) {
        uint64_t word = VT_HEAD(VT_K_RMA_WIN_DESTROY, 0, lane->window);
        if (lane->window) vt_stream_write(lane->stream, &word, 1, lane->ticks);
        lane->window = 0;
    }
}
