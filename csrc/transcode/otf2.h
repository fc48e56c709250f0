/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of libotf2 that the kernel calls, with their own prototypes: the library lies inside the otf2
   package, which has no header. A test compares this list with the bindings' argument types.                  */
#ifndef VT_OTF2_H
#define VT_OTF2_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

/* X(return type, name, argument types). Every event begins with writer, attribute list, time. */
#define VT_OTF2_EVENTS(X)                                                                                             \
    X(int32_t, EvtWriter_Enter, (void *, void *, uint64_t, uint32_t))                                                 \
    X(int32_t, EvtWriter_Leave, (void *, void *, uint64_t, uint32_t))                                                 \
    X(int32_t, EvtWriter_BufferFlush, (void *, void *, uint64_t, uint64_t))                                           \
    X(int32_t, EvtWriter_MeasurementOnOff, (void *, void *, uint64_t, uint8_t))                                       \
    X(int32_t, EvtWriter_MpiSend, (void *, void *, uint64_t, uint32_t, uint32_t, uint32_t, uint64_t))                 \
    X(int32_t, EvtWriter_MpiRecv, (void *, void *, uint64_t, uint32_t, uint32_t, uint32_t, uint64_t))                 \
    X(int32_t, EvtWriter_MpiIsend, (void *, void *, uint64_t, uint32_t, uint32_t, uint32_t, uint64_t, uint64_t))      \
    X(int32_t, EvtWriter_MpiIsendComplete, (void *, void *, uint64_t, uint64_t))                                      \
    X(int32_t, EvtWriter_MpiIrecvRequest, (void *, void *, uint64_t, uint64_t))                                       \
    X(int32_t, EvtWriter_MpiIrecv, (void *, void *, uint64_t, uint32_t, uint32_t, uint32_t, uint64_t, uint64_t))      \
    X(int32_t, EvtWriter_MpiRequestTest, (void *, void *, uint64_t, uint64_t))                                        \
    X(int32_t, EvtWriter_MpiRequestCancelled, (void *, void *, uint64_t, uint64_t))                                   \
    X(int32_t, EvtWriter_MpiCollectiveBegin, (void *, void *, uint64_t))                                              \
    X(int32_t, EvtWriter_MpiCollectiveEnd,                                                                            \
      (void *, void *, uint64_t, uint8_t, uint32_t, uint32_t, uint64_t, uint64_t))                                    \
    X(int32_t, EvtWriter_NonBlockingCollectiveRequest, (void *, void *, uint64_t, uint64_t))                          \
    X(int32_t, EvtWriter_NonBlockingCollectiveComplete,                                                               \
      (void *, void *, uint64_t, uint8_t, uint32_t, uint32_t, uint64_t, uint64_t, uint64_t))                          \
    X(int32_t, EvtWriter_CommCreate, (void *, void *, uint64_t, uint32_t))                                            \
    X(int32_t, EvtWriter_CommDestroy, (void *, void *, uint64_t, uint32_t))                                           \
    X(int32_t, EvtWriter_Metric, (void *, void *, uint64_t, uint32_t, uint8_t, const void *, const void *))

#define VT_OTF2_FUNCTIONS(X)                                                                                          \
    VT_OTF2_EVENTS(X)                                                                                                 \
    X(int32_t, Archive_SetFlushCallbacks, (void *, const void *, void *))                                             \
    X(int32_t, Archive_SetLockingCallbacks, (void *, const void *, void *))                                           \
    X(int32_t, Archive_SetMemoryCallbacks, (void *, const void *, void *))                                            \
    X(void *, Error_RegisterCallback, (void *, void *))

struct vt_otf2 {
#define VT_OTF2_POINTER(type, name, arguments) type(*name) arguments;
    VT_OTF2_FUNCTIONS(VT_OTF2_POINTER)
#undef VT_OTF2_POINTER
};

/* Which event: index of the counts that a transcoding returns. */
enum vt_event {
#define VT_OTF2_NUMBER(type, name, arguments) VT_N_##name,
    VT_OTF2_EVENTS(VT_OTF2_NUMBER)
#undef VT_OTF2_NUMBER
    VT_EVENT_KINDS
};

extern struct vt_otf2 vt_otf2;

/* What libotf2 complained about first on this thread since vt_otf2_forget: the OTF2_ErrorCode, 0 for nothing. */
int32_t vt_otf2_complaint(const char **text);
void vt_otf2_forget(void);

#endif
