/* SPDX-License-Identifier: BSD-3-Clause */
/* The locations of a queue. Its activities may overlap, and those of a location nest: each takes the first lane that is
   free at its start. A time that differs from the order of the device by the error of its clock is moved. */
#include <stdio.h>
#include <string.h>
#include "openclwrap.h"

static struct vt_cl_lane *lane_for(struct vt_cl_queue *q, uint64_t start)
{
    unsigned n = 0;
    while (n < VT_CL_LANES && q->lanes[n].stream && q->lanes[n].end > start) n++;
    if (n == VT_CL_LANES) return NULL;
    struct vt_cl_lane *lane = &q->lanes[n];
    if (lane->stream) return lane;
    char name[64];
    const struct vt_cl_device *d = q->device;
    int used = snprintf(name, sizeof name, "OpenCL[%u:%u]", d->number, q->number);
    if (n) snprintf(name + used, sizeof name - (size_t)used, " lane %u", n + 1);
    lane->stream = vt_stream_new(name, d->name, q->begin);
    lane->ticks = q->begin;
    return lane->stream ? lane : NULL;
}

void vt_cl_record(struct vt_cl_queue *q, const struct vt_cl_activity *a)
{
    struct vt_cl_lane *lane = lane_for(q, a->start);
    if (!lane) {
        vt_warn_left_out("library", "more than %u commands of a queue of OpenCL overlap: others are not recorded",
                         VT_CL_LANES);
        return;
    }
    uint64_t start = vt_cl_clock_ticks(q->device, a->start), end = vt_cl_clock_ticks(q->device, a->end);
    if (start < lane->ticks) start = lane->ticks;
    if (end < start) end = start;
    const uint64_t values[VT_CL_ATTRIBUTES] = {
        [VT_CL_COMMAND] = a->number,
        [VT_CL_BYTES] = a->bytes,
        [VT_CL_QUEUED] = a->start > a->queued ? a->start - a->queued : 0,
        [VT_CL_SUBMITTED] = a->start > a->submitted ? a->start - a->submitted : 0,
    };
    uint64_t words[2 * VT_CL_ATTRIBUTES + 1];
    unsigned n = 0;
    for (unsigned i = 0; i < VT_CL_ATTRIBUTES; i++) {
        if (i == VT_CL_BYTES && !a->bytes) continue;
        words[n++] = VT_HEAD(VT_K_ATTRIBUTE, 1, vt_cl_attribute(i));
        words[n++] = values[i];
    }
    words[n++] = VT_HEAD(VT_K_ENTER, 0, a->region);
    vt_stream_write(lane->stream, words, n, start);
    uint64_t leave = VT_HEAD(VT_K_LEAVE, 0, a->region);
    vt_stream_write(lane->stream, &leave, 1, end);
    lane->end = a->end;
    lane->ticks = end;
}
