/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of CUPTI's binary interface that is the same from 11.8 to 13. New versions of an activity record only add
   members at its end, and cuptiActivityGetNextRecord knows the size. tests/programs/cupti_layouts.c compares with
   CUPTI's headers. */
#ifndef VT_CUPTI_H
#define VT_CUPTI_H

#include <stddef.h>
#include <stdint.h>

#define VT_CUPTI_OLDEST 18u /* cuptiGetVersion of CUPTI 11.8 */

enum vt_cupti_result { VT_CUPTI_SUCCESS = 0, VT_CUPTI_MULTIPLE_SUBSCRIBERS = 39 };
enum vt_cupti_domain { VT_CUPTI_DRIVER = 1, VT_CUPTI_RUNTIME = 2 };
enum vt_cupti_flag { VT_CUPTI_FLUSH_FORCED = 1 };
enum vt_cupti_kind {
    VT_CUPTI_MEMCPY = 1,
    VT_CUPTI_MEMSET = 2,
    VT_CUPTI_DEVICE = 8,
    VT_CUPTI_CONCURRENT_KERNEL = 10,
    VT_CUPTI_MEMCPY2 = 22, /* between devices */
    VT_CUPTI_UNIFIED = 25, /* unified memory */
};
enum vt_cupti_copy_kind {
    VT_CUPTI_HTOD = 1,
    VT_CUPTI_DTOH = 2,
    VT_CUPTI_HTOA = 3, /* A: an array of the device */
    VT_CUPTI_ATOH = 4,
    VT_CUPTI_HTOH = 9,
    VT_CUPTI_PTOP = 10,
};

enum vt_cupti_unified_kind {
    VT_CUPTI_UNIFIED_HTOD = 1,
    VT_CUPTI_UNIFIED_DTOH = 2,
    VT_CUPTI_UNIFIED_CPU_FAULT = 3,
    VT_CUPTI_UNIFIED_GPU_FAULTS = 4,
    VT_CUPTI_UNIFIED_DTOD = 8,
};
enum { VT_CUPTI_UNIFIED_ALL_DEVICES = 2 };

struct vt_cupti_unified_setting {
    uint32_t scope, kind, device, enable;
};

struct vt_cupti_call {
    uint32_t site; /* 0: enter, 1: leave */
    const char *function;
    const void *parameters, *result;
    const char *symbol;
    void *context;
    uint32_t context_number;
    uint64_t *data; /* from the enter to the leave */
    uint32_t correlation;
};

struct vt_cupti_device {
    uint32_t kind;
    uint8_t other[108];
    uint32_t device;
    uint8_t more[20];
    const char *name;
};
struct vt_cupti_kernel {
    uint32_t kind;
    uint8_t other[12];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    uint8_t more[36];
    uint32_t local_memory;
    uint32_t correlation;
    int64_t grid;
    const char *name;
};
struct vt_cupti_copy {
    uint32_t kind;
    uint8_t copy, source, destination, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
};
struct vt_cupti_peer_copy {
    uint32_t kind;
    uint8_t copy, source, destination, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t from[2], to[2];
    uint32_t correlation;
};
struct vt_cupti_unified {
    uint32_t kind, what; /* what: enum vt_cupti_unified_kind */
    uint64_t value; /* bytes; of GPU_FAULTS: their number; of CPU_FAULT: an address */
    uint64_t start, end; /* end: not of CPU_FAULT */
    uint64_t address;
    uint32_t source, destination; /* devices; of GPU_FAULTS: source; of CPU_FAULT: none */
};
struct vt_cupti_set {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
};

#endif
