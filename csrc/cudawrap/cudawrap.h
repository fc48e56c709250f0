/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the files of libvtrace-cuda.so, which CUDA's driver loads by CUDA_INJECTION64_PATH: it records
   CUDA by CUPTI. No header of CUDA is needed: the library finds CUPTI's functions by name, and cupti.h declares what
   CUPTI 11.8 to 13 have in common.

   injection.c begins and ends the recording, load.c finds CUPTI, calls.c records calls, buffers.c has the buffers of
   CUPTI's records, records.c reads them, unified.c records those of unified memory, streams.c has the streams of all
   devices. */
#ifndef VT_CUDAWRAP_H
#define VT_CUDAWRAP_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "../devices/devices.h"
#include "cupti.h"

#pragma GCC visibility push(hidden)

/* ---- load.c ---- */

/* CUPTI's functions: name, result, parameters. */
/* clang-format off */
#define VT_CUPTI_FUNCTIONS(X)                                                                                          \
    X(cuptiGetVersion, int, (uint32_t *version))                                                                       \
    X(cuptiGetTimestamp, int, (uint64_t *time))                                                                        \
    X(cuptiGetResultString, int, (int result, const char **text))                                                      \
    X(cuptiSubscribe, int, (void **subscriber, void *callback, void *data))                                            \
    X(cuptiUnsubscribe, int, (void *subscriber))                                                                       \
    X(cuptiGetCallbackName, int, (uint32_t domain, uint32_t number, const char **name))                                \
    X(cuptiEnableCallback, int, (uint32_t enable, void *subscriber, uint32_t domain, uint32_t number))                 \
    X(cuptiActivityRegisterCallbacks, int, (void *requested, void *completed))                                         \
    X(cuptiActivityConfigureUnifiedMemoryCounter, int, (struct vt_cupti_unified_setting * settings, uint32_t n))       \
    X(cuptiActivityEnable, int, (uint32_t kind))                                                                       \
    X(cuptiActivityFlushAll, int, (uint32_t flags))                                                                    \
    X(cuptiActivityFlushPeriod, int, (uint32_t milliseconds))                                                          \
    X(cuptiActivityGetNextRecord, int, (uint8_t *buffer, size_t valid, void **record))                                 \
    X(cuptiActivityGetNumDroppedRecords, int, (void *context, uint32_t stream, size_t *dropped))
/* clang-format on */

struct vt_cupti {
#define VT_CUPTI_MEMBER(name, type, parameters) type(*name) parameters;
    VT_CUPTI_FUNCTIONS(VT_CUPTI_MEMBER)
#undef VT_CUPTI_MEMBER
};
extern struct vt_cupti vt_cupti;

/* Finds CUPTI and its functions. Returns NULL, else why there is none. */
const char *vt_cuda_load(void);

/* ---- calls.c ---- */

/* Enables the callbacks of the functions whose calls are recorded. */
void vt_cuda_enable_calls(void *subscriber);
/* CUPTI calls it at the enter and leave of such a function. */
void vt_cuda_called(void *data, uint32_t domain, uint32_t number, const struct vt_cupti_call *call);
/* The enter of a call: CLOCK_MONOTONIC, and the location of its thread. */
struct vt_cuda_enter {
    uint64_t time;
    uint32_t location; /* VT_NO_LOCATION: none */
};
/* Returns the enter of the call with a correlation; time 0: unknown. */
struct vt_cuda_enter vt_cuda_entered(uint32_t correlation);

/* ---- buffers.c ---- */

/* Registers the buffers of records. Returns CUPTI's result. */
int vt_cuda_register_buffers(void);
/* Writes the finished records; all: at the program's end, also those of unfinished activities. */
void vt_cuda_flush(int all);
/* As vt_cuda_flush, if the last time is a while ago. */
void vt_cuda_flush_sometimes(void);
/* Enters into the ledger what has not been recorded. */
void vt_cuda_tell_losses(void);

/* ---- records.c ---- */

/* Records the activities of a buffer. */
void vt_cuda_read(uint8_t *buffer, size_t valid);
/* Relates CUPTI's clock to the runtime's. */
void vt_cuda_clock_ask(void);
/* Ends the streams at the program's end. */
void vt_cuda_end_streams(void);
/* Returns the number of activities without times. */
uint64_t vt_cuda_without_times(void);

/* ---- unified.c ---- */

/* Begins the recording of unified memory, once. */
void vt_cuda_begin_unified(void);
/* Records a migration of pages, or faults; the caller has the lock of streams.c. */
void vt_cuda_record_unified(const struct vt_cupti_unified *u);

/* ---- streams.c: the caller of the first three has a lock ---- */

#define VT_CUDA_DEVICES 64u
/* Numbers of streams that CUDA does not have. */
enum { VT_CUDA_OTHERS = UINT32_MAX, VT_CUDA_MIGRATIONS = UINT32_MAX - 1, VT_CUDA_FAULTS = UINT32_MAX - 2 };

/* Takes the name of a device. */
void vt_cuda_name_device(uint32_t device, const char *name);
/* Returns the queue of a stream; NULL: there is no memory. */
struct vt_device_queue *vt_cuda_stream(uint32_t device, uint32_t context, uint32_t stream);
void vt_cuda_end_queues(void);
/* The clock of CUPTI's times, for all devices, and ticks of which no activity is earlier. */
extern struct vt_device_clock vt_cuda_clock;
extern uint64_t vt_cuda_begin;

/* ---- injection.c ---- */

/* Returns CUPTI's text of an error. */
const char *vt_cuda_text_of(int result);
/* Returns 1 if this process records CUDA: 0 in a forked child, which cannot use its parent's CUDA. */
int vt_cuda_records(void);

#pragma GCC visibility pop

#endif
