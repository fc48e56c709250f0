/* SPDX-License-Identifier: BSD-3-Clause */
/* A CUPTI without a device (cupti_fake.c): the functions by which a program plays calls of CUDA and their activities. */
#ifndef CUPTI_FAKE_H
#define CUPTI_FAKE_H

#include <stdint.h>

/* What a device does for a call. Copies and unified memory: CUPTI's kind; length: ns on the device, < 0: it never ends. */
struct fake_activity {
    enum { FAKE_KERNEL, FAKE_COPY, FAKE_PEER_COPY, FAKE_SET, FAKE_UNIFIED } what;
    uint32_t device, stream, copy;
    uint64_t bytes;
    int64_t length;
    const char *name;
    int overlaps; /* it begins at once; else after the activities of its stream */
};

/* Calls a function of the runtime or, is_driver, of the driver. nested: the function of the driver that it calls, or NULL.
   The n activities have the call's correlation. waits: until all activities have ended. */
struct fake_call {
    const char *name, *nested;
    int is_driver, waits, n;
    struct fake_activity activities[8];
};
void fake_call(const struct fake_call *call);
/* Takes the place of the tool that has registered buffers, as a profiler in the program does. */
void fake_take_over(void);
/* CUPTI gives no buffer back before a forced flush, and a buffer holds so many records. */
void fake_hold(unsigned records);
/* Waits until CUPTI's thread has given a full buffer back. */
void fake_wait_for_thread(void);
/* Gives a buffer with a cut record to the tool. */
void fake_cut_record(void);

#endif
