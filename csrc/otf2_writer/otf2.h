/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel's own prototypes and numbers of libotf2: the library lies inside the otf2 package, which has no header.
   Tests compare them with the bindings, and with OTF2's own header if that is installed. The types have OTF2's names so
   that both headers can be included. */
#ifndef VT_OTF2_H
#define VT_OTF2_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include "otf2_events.h"

typedef struct OTF2_Archive_struct OTF2_Archive;
typedef struct OTF2_EvtWriter_struct OTF2_EvtWriter;
typedef struct OTF2_AttributeList_struct OTF2_AttributeList;
typedef struct OTF2_GlobalDefWriter_struct OTF2_GlobalDefWriter;
struct OTF2_FlushCallbacks;
struct OTF2_MemoryCallbacks;
struct OTF2_LockingCallbacks;
struct OTF2_LockObject;
union OTF2_MetricValue_union;
typedef int32_t vt_otf2_error(void *user, const char *file, uint64_t line, const char *function, int32_t code,
                              const char *format, va_list values);

/* The members of these three structures, in their order. */
struct vt_otf2_flush {
    uint8_t (*pre_flush)(void *, uint8_t, uint64_t, void *, bool);
    uint64_t (*post_flush)(void *, uint8_t, uint64_t);
};
struct vt_otf2_memory {
    void *(*allocate)(void *, uint8_t, uint64_t, void **, uint64_t);
    void (*free_all)(void *, uint8_t, uint64_t, void **, bool);
};
struct vt_otf2_locking {
    void (*release)(void *);
    uint32_t (*create)(void *, struct OTF2_LockObject **);
    uint32_t (*destroy)(void *, struct OTF2_LockObject *);
    uint32_t (*lock)(void *, struct OTF2_LockObject *);
    uint32_t (*unlock)(void *, struct OTF2_LockObject *);
};

/* X(name, value); for an enumeration its last value. */
#define VT_OTF2_CONSTANTS(X)                                                                                           \
    X(FLUSH, 1)                                                                                                        \
    X(CALLBACK_SUCCESS, 0)                                                                                             \
    X(CALLBACK_ERROR, 1)                                                                                               \
    X(MEASUREMENT_ON, 1)                                                                                               \
    X(MEASUREMENT_OFF, 2)                                                                                              \
    X(COLLECTIVE_ROOT_THIS_GROUP, 0xfffffffdu)                                                                         \
    X(COLLECTIVE_OP_DESTROY_HANDLE_AND_DEALLOCATE, 22)                                                                 \
    X(PARADIGM_OPENMP, 3)                                                                                              \
    X(PARADIGM_NONE, 22)                                                                                               \
    X(TYPE_UINT8, 1)                                                                                                   \
    X(TYPE_UINT16, 2)                                                                                                  \
    X(TYPE_UINT32, 3)                                                                                                  \
    X(TYPE_UINT64, 4)                                                                                                  \
    X(TYPE_INT8, 5)                                                                                                    \
    X(TYPE_INT16, 6)                                                                                                   \
    X(TYPE_INT32, 7)                                                                                                   \
    X(TYPE_INT64, 8)                                                                                                   \
    X(TYPE_FLOAT, 9)                                                                                                   \
    X(TYPE_DOUBLE, 10)                                                                                                 \
    X(TYPE_STRING, 11)                                                                                                 \
    X(TYPE_LOCATION, 13)                                                                                               \
    X(TYPE_REGION, 14)                                                                                                 \
    X(TYPE_COMM, 17)                                                                                                   \
    X(TYPE_RMA_WIN, 19)                                                                                                \
    X(TYPE_IO_FILE, 23)                                                                                                \
    X(TYPE_IO_HANDLE, 24)                                                                                              \
    X(LOCK_SHARED, 1)                                                                                                  \
    X(RMA_SYNC_LEVEL_MEMORY, 2)                                                                                        \
    X(RMA_SYNC_TYPE_NOTIFY_OUT, 2)                                                                                     \
    X(RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE, 7)                                                                         \
    X(IO_ACCESS_MODE_SEARCH_ONLY, 4)                                                                                   \
    X(IO_CREATION_FLAG_UNIQUE, 1024)                                                                                   \
    X(IO_STATUS_FLAG_DELETE_ON_CLOSE, 256)                                                                             \
    X(IO_SEEK_HOLE, 4)                                                                                                 \
    X(IO_OPERATION_MODE_FLUSH, 2)                                                                                      \
    X(IO_OPERATION_FLAG_COLLECTIVE, 2)

enum vt_otf2_constant {
#define VT_OTF2_CONSTANT(name, value) VT_OTF2_##name = value,
    VT_OTF2_CONSTANTS(VT_OTF2_CONSTANT)
#undef VT_OTF2_CONSTANT
};

/* Every event of a writer begins with writer, attribute list, time. X(return type, name, argument types): the functions
   besides. */
#define VT_OTF2_HEAD OTF2_EvtWriter *, OTF2_AttributeList *, uint64_t
#define VT_OTF2_ATTRIBUTES(X)                                                                                          \
    X(OTF2_AttributeList *, AttributeList_New, (void))                                                                 \
    X(int32_t, AttributeList_Delete, (OTF2_AttributeList *))                                                           \
    X(int32_t, AttributeList_RemoveAllAttributes, (OTF2_AttributeList *))                                              \
    X(int32_t, AttributeList_AddUint8, (OTF2_AttributeList *, uint32_t, uint8_t))                                      \
    X(int32_t, AttributeList_AddUint16, (OTF2_AttributeList *, uint32_t, uint16_t))                                    \
    X(int32_t, AttributeList_AddUint32, (OTF2_AttributeList *, uint32_t, uint32_t))                                    \
    X(int32_t, AttributeList_AddUint64, (OTF2_AttributeList *, uint32_t, uint64_t))                                    \
    X(int32_t, AttributeList_AddInt8, (OTF2_AttributeList *, uint32_t, int8_t))                                        \
    X(int32_t, AttributeList_AddInt16, (OTF2_AttributeList *, uint32_t, int16_t))                                      \
    X(int32_t, AttributeList_AddInt32, (OTF2_AttributeList *, uint32_t, int32_t))                                      \
    X(int32_t, AttributeList_AddInt64, (OTF2_AttributeList *, uint32_t, int64_t))                                      \
    X(int32_t, AttributeList_AddFloat, (OTF2_AttributeList *, uint32_t, float))                                        \
    X(int32_t, AttributeList_AddDouble, (OTF2_AttributeList *, uint32_t, double))                                      \
    X(int32_t, AttributeList_AddStringRef, (OTF2_AttributeList *, uint32_t, uint32_t))                                 \
    X(int32_t, AttributeList_AddRegionRef, (OTF2_AttributeList *, uint32_t, uint32_t))                                 \
    X(int32_t, AttributeList_AddCommRef, (OTF2_AttributeList *, uint32_t, uint32_t))                                   \
    X(int32_t, AttributeList_AddRmaWinRef, (OTF2_AttributeList *, uint32_t, uint32_t))                                 \
    X(int32_t, AttributeList_AddIoFileRef, (OTF2_AttributeList *, uint32_t, uint32_t))                                 \
    X(int32_t, AttributeList_AddIoHandleRef, (OTF2_AttributeList *, uint32_t, uint32_t))

#define VT_OTF2_FUNCTIONS(X)                                                                                           \
    VT_OTF2_ATTRIBUTES(X)                                                                                              \
    X(int32_t, GlobalDefWriter_WriteCallingContext, (OTF2_GlobalDefWriter *, uint32_t, uint32_t, uint32_t, uint32_t))  \
    X(int32_t, Archive_SetFlushCallbacks, (OTF2_Archive *, const struct OTF2_FlushCallbacks *, void *))                \
    X(int32_t, Archive_SetLockingCallbacks, (OTF2_Archive *, const struct OTF2_LockingCallbacks *, void *))            \
    X(int32_t, Archive_SetMemoryCallbacks, (OTF2_Archive *, const struct OTF2_MemoryCallbacks *, void *))              \
    X(vt_otf2_error *, Error_RegisterCallback, (vt_otf2_error *, void *))

struct vt_otf2 {
#define VT_OTF2_POINTER(type, name, arguments) type(*name) arguments;
    VT_OTF2_FUNCTIONS(VT_OTF2_POINTER)
#undef VT_OTF2_POINTER
#define VT_OTF2_WRITER(name) int32_t (*EvtWriter_##name)(VT_OTF2_HEAD VT_E_##name(VT_PARAMETER));
    VT_OTF2_EVENTS(VT_OTF2_WRITER)
#undef VT_OTF2_WRITER
};

/* The kinds of events: indices of the counts that a transcoding returns. */
enum vt_event {
#define VT_OTF2_NUMBER(name) VT_N_EvtWriter_##name,
    VT_OTF2_EVENTS(VT_OTF2_NUMBER)
#undef VT_OTF2_NUMBER
        VT_EVENT_KINDS
};

extern struct vt_otf2 vt_otf2;

/* libotf2's first error on this thread since vt_otf2_forget: its OTF2_ErrorCode, 0 for none. */
int32_t vt_otf2_complaint(const char **text);
void vt_otf2_forget(void);

#endif
