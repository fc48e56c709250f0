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

/* nvtxPayloadData_t: data with a layout that the program has registered, or of a type. */
struct nvtx_data {
    uint64_t schema;
    size_t bytes;
    const void *at;
};
#define NVTX_DATA                                                                                                      \
    ((int32_t)0xDFBD0009) /* a payload_type: `payload` has the address of these data, `reserved` their number */

/* The domain of a handle; NULL: that of programs without one. */
struct vt_named *vt_nvtx_domain(struct vt_named *handle);
/* The event's message; room: of VT_LABEL_BYTES, for a wide one. */
const char *vt_nvtx_text(const struct nvtx_event *e, char *room);
int vt_nvtx_push(struct vt_named *handle, const struct nvtx_event *e);
uint64_t vt_nvtx_start(struct vt_named *handle, const struct nvtx_event *e);
void vt_nvtx_mark(struct vt_named *handle, const struct nvtx_event *e);

/* ---- nvtx_schemas.c ---- */

struct vt_nvtx_schema;
/* Returns VT_COUNT_TYPE_... of a type of NVTX; 0: not a number. */
int vt_nvtx_type_of(uint64_t type);
/* Keeps a layout (nvtxPayloadSchemaAttr_t). Returns its id: the program's, or `fresh`. */
uint64_t vt_nvtx_register_schema(struct vt_named *handle, const void *attributes, uint64_t fresh);
/* Returns a layout of a domain; NULL: unknown. */
const struct vt_nvtx_schema *vt_nvtx_schema(struct vt_named *handle, uint64_t id);
/* Records the numbers in data as counters NAME.field. */
void vt_nvtx_count(const struct vt_nvtx_schema *schema, const char *name, const void *data, size_t bytes);
/* Records a number of so many bytes as a counter's value. type: VT_COUNT_TYPE_... */
void vt_nvtx_count_as(uint32_t counter, int type, const void *at, size_t bytes);
/* Sets the message, category and colour that the data of an event have. */
void vt_nvtx_describe(struct nvtx_event *e, struct vt_named *handle, const struct nvtx_data *data, size_t n);
/* Records the numbers in the data of an event, named by their layout, else by the event. */
void vt_nvtx_record_data(struct vt_named *handle, const char *name, const struct nvtx_data *data, size_t n);

#endif
