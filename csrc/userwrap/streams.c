/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams of devices: locations without a thread, whose records have the times of the device's activities. */
#include "userwrap.h"

VT_PUBLIC struct vt_location *vt_stream_new(const char *name, const char *device, uint64_t begin)
{
    return vt_location_to_record(0) && !vt_shares_memory() ? vt_location_new_stream(name, device, begin) : NULL;
}

VT_PUBLIC uint32_t vt_stream_number(const struct vt_location *stream) { return stream->number; }

VT_PUBLIC void vt_stream_write(struct vt_location *stream, uint64_t *words, unsigned n, uint64_t ticks)
{
    if (!stream->in_use || !vt_location_to_record(0) || vt_shares_memory()) return;
    vt_busy_begin(stream);
    vt_put(stream, words, n, ticks);
    vt_busy_end(stream);
}
