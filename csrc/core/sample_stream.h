/* SPDX-License-Identifier: BSD-3-Clause */
/* The stream of samples of a location: chunks of their own, beside those of the events. */
#ifndef VT_SAMPLE_STREAM_H
#define VT_SAMPLE_STREAM_H

#include "location.h"

#pragma GCC visibility push(hidden)

/* A sample to write. frames: innermost first; they must stay unchanged until the next sample. weight: ns. values: the
   words of METRIC_GROUP records. */
struct vt_sample {
    uint64_t ticks, weight;
    uint32_t overruns, nframes, nvalues;
    enum vt_sample_end end;
    const uint64_t *frames, *values;
};

/* Appends a sample to the stream of the calling thread's location, in a handler with all signals blocked. Counts the
   sample as lost if recording has stopped or there is no memory. */
void vt_samples_put(struct vt_location *l, const struct vt_sample *sample);
/* Appends the current chunk to the list of full chunks. The caller holds the lock. */
void vt_samples_finish(struct vt_location *l);
/* Defines the sums of a location at its end; nothing for a location without samples. */
void vt_samples_define(struct vt_location *l);

#pragma GCC visibility pop

#endif
