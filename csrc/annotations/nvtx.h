/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations of NVTX (nvtx.c says from where), shared by nvtx.c and nvtx_extensions.c. */
#ifndef VT_NVTX_H
#define VT_NVTX_H

#include "annotations.h"

#define NVTX_UNTRACKED (-2) /* NVTX_NO_PUSH_POP_TRACKING: the result of push and pop without a tool */

enum { NVTX_ASCII = 1, NVTX_UNICODE, NVTX_REGISTERED };
enum { NVTX_ARGB = 1 };
enum { NVTX_UINT64 = 1, NVTX_INT64, NVTX_DOUBLE, NVTX_UINT32, NVTX_INT32, NVTX_FLOAT };

/* nvtxEventAttributes_t */
struct nvtx_event {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        uint32_t u32;
        int32_t i32;
        float f32;
    } payload;
    int32_t message_type;
    void *message;
};

/* The domain of a handle; NULL: that of programs without one. */
struct vt_named *vt_nvtx_domain(struct vt_named *handle);

#endif
