/* SPDX-License-Identifier: BSD-3-Clause */
/* Sampling. The sampler starts when the library is loaded, if VT_SAMPLE_RATE is set. */
#ifndef VT_SAMPLER_H
#define VT_SAMPLER_H

#include <signal.h>
#include "../core/location.h"
#include "unwind.h"

#if defined(__x86_64__)
#define VT_HAS_UNWINDER 1
#else
#define VT_HAS_UNWINDER 0
#endif

#pragma GCC visibility push(hidden)

/* Records a sample of the calling thread, whose location is l, in a signal handler. context: ucontext_t of the
   interrupted instruction; weight: ns that the sample stands for. */
void vt_sample_take(struct vt_location *l, const void *context, uint64_t weight, uint32_t overruns);
/* Returns 1 while threads are sampled. */
int vt_sample_is_on(void);
/* Returns 1 if a signal that the calling thread got without a handler comes from its sampling timer. The thread then
   calls vt_sample_go_on when it no longer waits for signals. */
int vt_sample_passes(const siginfo_t *info);
void vt_sample_go_on(void);
/* Returns the signal of sampling; 0: none, or the program has taken it. */
int vt_sample_signal(void);
/* The program uses the signal of sampling by other means than a handler: sampling stops. */
void vt_sample_give_signal(void);

#pragma GCC visibility pop

#endif
