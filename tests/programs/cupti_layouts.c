/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares csrc/cudawrap/cupti.h (CUPTI_PART) with CUPTI's headers: prints what differs. KERNEL, COPY, PEER, SET,
   UNIFIED and DEVICE: the newest record of each kind, of which the headers have several. */
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <stdio.h>
#include CUPTI_PART

#define SAME(ours, our, theirs, their)                                                                                 \
    if (offsetof(struct ours, our) != offsetof(theirs, their) ||                                                       \
        sizeof(((struct ours *)0)->our) != sizeof(((theirs *)0)->their))                                               \
    printf("%s.%s: %zu, not %zu\n", #ours, #our, offsetof(struct ours, our), offsetof(theirs, their))
#define EQUAL(ours, theirs)                                                                                            \
    if ((long)(ours) != (long)(theirs)) printf("%s is not %s\n", #ours, #theirs)
#define COPIED(ours, theirs)                                                                                           \
    SAME(ours, bytes, theirs, bytes);                                                                                  \
    SAME(ours, start, theirs, start);                                                                                  \
    SAME(ours, end, theirs, end);                                                                                      \
    SAME(ours, device, theirs, deviceId);                                                                              \
    SAME(ours, context, theirs, contextId);                                                                            \
    SAME(ours, stream, theirs, streamId);                                                                              \
    SAME(ours, correlation, theirs, correlationId)

int main(void)
{
    SAME(vt_cupti_kernel, kind, KERNEL, kind);
    SAME(vt_cupti_kernel, start, KERNEL, start);
    SAME(vt_cupti_kernel, end, KERNEL, end);
    SAME(vt_cupti_kernel, device, KERNEL, deviceId);
    SAME(vt_cupti_kernel, context, KERNEL, contextId);
    SAME(vt_cupti_kernel, stream, KERNEL, streamId);
    SAME(vt_cupti_kernel, correlation, KERNEL, correlationId);
    SAME(vt_cupti_kernel, name, KERNEL, name);
    SAME(vt_cupti_copy, copy, COPY, copyKind);
    COPIED(vt_cupti_copy, COPY);
    COPIED(vt_cupti_peer_copy, PEER);
    COPIED(vt_cupti_set, SET);
    SAME(vt_cupti_unified, what, UNIFIED, counterKind);
    SAME(vt_cupti_unified, value, UNIFIED, value);
    SAME(vt_cupti_unified, start, UNIFIED, start);
    SAME(vt_cupti_unified, end, UNIFIED, end);
    SAME(vt_cupti_unified, source, UNIFIED, srcId);
    SAME(vt_cupti_unified, destination, UNIFIED, dstId);
    SAME(vt_cupti_unified_setting, scope, CUpti_ActivityUnifiedMemoryCounterConfig, scope);
    SAME(vt_cupti_unified_setting, kind, CUpti_ActivityUnifiedMemoryCounterConfig, kind);
    SAME(vt_cupti_unified_setting, device, CUpti_ActivityUnifiedMemoryCounterConfig, deviceId);
    SAME(vt_cupti_unified_setting, enable, CUpti_ActivityUnifiedMemoryCounterConfig, enable);
    SAME(vt_cupti_device, device, DEVICE, id);
    SAME(vt_cupti_device, name, DEVICE, name);
    SAME(vt_cupti_call, site, CUpti_CallbackData, callbackSite);
    SAME(vt_cupti_call, data, CUpti_CallbackData, correlationData);
    SAME(vt_cupti_call, correlation, CUpti_CallbackData, correlationId);
    EQUAL(VT_CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
    EQUAL(VT_CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
    EQUAL(VT_CUPTI_DEVICE, CUPTI_ACTIVITY_KIND_DEVICE);
    EQUAL(VT_CUPTI_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    EQUAL(VT_CUPTI_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
    EQUAL(VT_CUPTI_UNIFIED, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
    EQUAL(VT_CUPTI_UNIFIED_ALL_DEVICES, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES);
    EQUAL(VT_CUPTI_UNIFIED_HTOD, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD);
    EQUAL(VT_CUPTI_UNIFIED_DTOH, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH);
    EQUAL(VT_CUPTI_UNIFIED_DTOD, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD);
    EQUAL(VT_CUPTI_UNIFIED_CPU_FAULT, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT);
    EQUAL(VT_CUPTI_UNIFIED_GPU_FAULTS, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT);
    EQUAL(VT_CUPTI_HTOD, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
    EQUAL(VT_CUPTI_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
    EQUAL(VT_CUPTI_HTOA, CUPTI_ACTIVITY_MEMCPY_KIND_HTOA);
    EQUAL(VT_CUPTI_ATOH, CUPTI_ACTIVITY_MEMCPY_KIND_ATOH);
    EQUAL(VT_CUPTI_HTOH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOH);
    EQUAL(VT_CUPTI_PTOP, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
    EQUAL(VT_CUPTI_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    EQUAL(VT_CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    EQUAL(VT_CUPTI_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
    EQUAL(VT_CUPTI_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
    EQUAL(0, CUPTI_API_ENTER);
    EQUAL(1, CUPTI_API_EXIT);
    return 0;
}
