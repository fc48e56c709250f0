/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the declarations of csrc/annotations/nvtx.h with those of NVIDIA's headers; only compiled. */
#include <stddef.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtPayload.h>
#undef VT_COMM_WORLD
#include "../../csrc/annotations/nvtx.h"

#define SAME(a, b) _Static_assert((size_t)(a) == (size_t)(b), #a " is not " #b)
#define FIELD(ours, theirs) SAME(offsetof(struct nvtx_event, ours), offsetof(nvtxEventAttributes_t, theirs))

SAME(sizeof(struct nvtx_event), sizeof(nvtxEventAttributes_t));
FIELD(category, category);
FIELD(color_type, colorType);
FIELD(color, color);
SAME(NVTX_ARGB, NVTX_COLOR_ARGB);
FIELD(payload_type, payloadType);
FIELD(payload, payload);
FIELD(message_type, messageType);
FIELD(message, message);
SAME(NVTX_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME(NVTX_UNICODE, NVTX_MESSAGE_TYPE_UNICODE);
SAME(NVTX_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(NVTX_UINT64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
SAME(NVTX_INT64, NVTX_PAYLOAD_TYPE_INT64);
SAME(NVTX_DOUBLE, NVTX_PAYLOAD_TYPE_DOUBLE);
SAME(NVTX_UINT32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
SAME(NVTX_INT32, NVTX_PAYLOAD_TYPE_INT32);
SAME(NVTX_FLOAT, NVTX_PAYLOAD_TYPE_FLOAT);
SAME(NVTX_UNTRACKED, NVTX_NO_PUSH_POP_TRACKING);

/* clang-format off */
#define ID(number, name) SAME(number, NVTX_CBID_##name)
ID(1, CORE_MarkEx); ID(2, CORE_MarkA); ID(3, CORE_MarkW); ID(4, CORE_RangeStartEx); ID(5, CORE_RangeStartA);
ID(6, CORE_RangeStartW); ID(7, CORE_RangeEnd); ID(8, CORE_RangePushEx); ID(9, CORE_RangePushA);
ID(10, CORE_RangePushW); ID(11, CORE_RangePop); ID(12, CORE_NameCategoryA); ID(13, CORE_NameCategoryW); ID(14, CORE_NameOsThreadA); ID(15, CORE_NameOsThreadW);
ID(1, CORE2_DomainMarkEx); ID(2, CORE2_DomainRangeStartEx); ID(3, CORE2_DomainRangeEnd);
ID(4, CORE2_DomainRangePushEx); ID(5, CORE2_DomainRangePop); ID(8, CORE2_DomainNameCategoryA); ID(9, CORE2_DomainNameCategoryW);
ID(10, CORE2_DomainRegisterStringA);
ID(11, CORE2_DomainRegisterStringW); ID(12, CORE2_DomainCreateA); ID(13, CORE2_DomainCreateW);
SAME(1, NVTX_CB_MODULE_CORE); SAME(5, NVTX_CB_MODULE_CORE2); SAME(1, NVTX_ETID_CALLBACKS);
#define EXTENSION(number, name) SAME(number, NVTX3EXT_CBID_##name)
EXTENSION(0, nvtxPayloadSchemaRegister); EXTENSION(1, nvtxPayloadEnumRegister); EXTENSION(2, nvtxMarkPayload);
EXTENSION(3, nvtxRangePushPayload); EXTENSION(4, nvtxRangePopPayload); EXTENSION(5, nvtxRangeStartPayload);
EXTENSION(6, nvtxRangeEndPayload); EXTENSION(7, nvtxDomainIsEnabled); EXTENSION(8, nvtxTimestampGet);
EXTENSION(12, nvtxScopeRegister); EXTENSION(0, nvtxCounterRegister); EXTENSION(1, nvtxCounterSampleInt64);
EXTENSION(2, nvtxCounterSampleFloat64); EXTENSION(3, nvtxCounterSample); EXTENSION(4, nvtxCounterSampleNoValue);
SAME(2, NVTX_EXT_PAYLOAD_MODULEID); SAME(4, NVTX_EXT_COUNTERS_MODULEID);
/* clang-format on */
