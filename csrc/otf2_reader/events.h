/* SPDX-License-Identifier: BSD-3-Clause */
/* The events of OTF2 3.2 with the arguments of the reader's callbacks and the use of each value. The names are those of
   the columns that Python shows. Tests compare the types with OTF2's own header and with the bindings. */
#ifndef VT_READ_EVENTS_H
#define VT_READ_EVENTS_H

#include <stdint.h>
#include "../otf2_writer/otf2.h"

#define VT_READ_HEAD uint64_t location, uint64_t time, uint64_t position, void *user, OTF2_AttributeList *attributes

/* clang-format off */
/* X(event, arguments of the callback, the definition that the event refers to, the event's other values). */
#define VT_READ_EVENTS(X)                                                                                              \
    X(BufferFlush, (VT_READ_HEAD, uint64_t stop), NONE, stop)                                                          \
    X(MeasurementOnOff, (VT_READ_HEAD, uint8_t mode), NONE, mode)                                                      \
    X(MpiSend, (VT_READ_HEAD, uint32_t peer, uint32_t comm, uint32_t tag, uint64_t bytes), comm, peer, tag, bytes)     \
    X(MpiIsend, (VT_READ_HEAD, uint32_t peer, uint32_t comm, uint32_t tag, uint64_t bytes, uint64_t request),          \
      comm, peer, tag, bytes, request)                                                                                 \
    X(MpiIsendComplete, (VT_READ_HEAD, uint64_t request), NONE, request)                                               \
    X(MpiIrecvRequest, (VT_READ_HEAD, uint64_t request), NONE, request)                                                \
    X(MpiRecv, (VT_READ_HEAD, uint32_t peer, uint32_t comm, uint32_t tag, uint64_t bytes), comm, peer, tag, bytes)     \
    X(MpiIrecv, (VT_READ_HEAD, uint32_t peer, uint32_t comm, uint32_t tag, uint64_t bytes, uint64_t request),          \
      comm, peer, tag, bytes, request)                                                                                 \
    X(MpiRequestTest, (VT_READ_HEAD, uint64_t request), NONE, request)                                                 \
    X(MpiRequestCancelled, (VT_READ_HEAD, uint64_t request), NONE, request)                                            \
    X(MpiCollectiveEnd, (VT_READ_HEAD, uint8_t op, uint32_t comm, uint32_t root, uint64_t sent, uint64_t received),    \
      comm, op, root, sent, received)                                                                                  \
    X(OmpFork, (VT_READ_HEAD, uint32_t threads), NONE, threads)                                                        \
    X(OmpAcquireLock, (VT_READ_HEAD, uint32_t lock, uint32_t order), NONE, lock, order)                                \
    X(OmpReleaseLock, (VT_READ_HEAD, uint32_t lock, uint32_t order), NONE, lock, order)                                \
    X(OmpTaskCreate, (VT_READ_HEAD, uint64_t task), NONE, task)                                                        \
    X(OmpTaskSwitch, (VT_READ_HEAD, uint64_t task), NONE, task)                                                        \
    X(OmpTaskComplete, (VT_READ_HEAD, uint64_t task), NONE, task)                                                      \
    X(ParameterString, (VT_READ_HEAD, uint32_t parameter, uint32_t string), parameter, string)                         \
    X(ParameterInt, (VT_READ_HEAD, uint32_t parameter, int64_t value), parameter, value)                               \
    X(ParameterUnsignedInt, (VT_READ_HEAD, uint32_t parameter, uint64_t value), parameter, value)                      \
    X(RmaCollectiveEnd,                                                                                                \
      (VT_READ_HEAD, uint8_t op, uint32_t level, uint32_t win, uint32_t root, uint64_t sent, uint64_t received),       \
      win, op, level, root, sent, received)                                                                            \
    X(RmaGroupSync, (VT_READ_HEAD, uint32_t level, uint32_t win, uint32_t group), win, level, group)                   \
    X(RmaRequestLock, (VT_READ_HEAD, uint32_t win, uint32_t peer, uint64_t lock, uint8_t type), win, peer, lock, type) \
    X(RmaAcquireLock, (VT_READ_HEAD, uint32_t win, uint32_t peer, uint64_t lock, uint8_t type), win, peer, lock, type) \
    X(RmaTryLock, (VT_READ_HEAD, uint32_t win, uint32_t peer, uint64_t lock, uint8_t type), win, peer, lock, type)     \
    X(RmaReleaseLock, (VT_READ_HEAD, uint32_t win, uint32_t peer, uint64_t lock), win, peer, lock)                     \
    X(RmaSync, (VT_READ_HEAD, uint32_t win, uint32_t peer, uint8_t type), win, peer, type)                             \
    X(RmaPut, (VT_READ_HEAD, uint32_t win, uint32_t peer, uint64_t bytes, uint64_t matching),                          \
      win, peer, bytes, matching)                                                                                      \
    X(RmaGet, (VT_READ_HEAD, uint32_t win, uint32_t peer, uint64_t bytes, uint64_t matching),                          \
      win, peer, bytes, matching)                                                                                      \
    X(RmaAtomic,                                                                                                       \
      (VT_READ_HEAD, uint32_t win, uint32_t peer, uint8_t type, uint64_t sent, uint64_t received, uint64_t matching),  \
      win, peer, type, sent, received, matching)                                                                       \
    X(RmaOpCompleteBlocking, (VT_READ_HEAD, uint32_t win, uint64_t matching), win, matching)                           \
    X(RmaOpCompleteNonBlocking, (VT_READ_HEAD, uint32_t win, uint64_t matching), win, matching)                        \
    X(RmaOpTest, (VT_READ_HEAD, uint32_t win, uint64_t matching), win, matching)                                       \
    X(RmaOpCompleteRemote, (VT_READ_HEAD, uint32_t win, uint64_t matching), win, matching)                             \
    X(ThreadFork, (VT_READ_HEAD, uint8_t model, uint32_t threads), NONE, model, threads)                               \
    X(ThreadJoin, (VT_READ_HEAD, uint8_t model), NONE, model)                                                          \
    X(ThreadAcquireLock, (VT_READ_HEAD, uint8_t model, uint32_t lock, uint32_t order), NONE, model, lock, order)       \
    X(ThreadReleaseLock, (VT_READ_HEAD, uint8_t model, uint32_t lock, uint32_t order), NONE, model, lock, order)       \
    X(ThreadTaskCreate, (VT_READ_HEAD, uint32_t comm, uint32_t thread, uint32_t generation),                           \
      comm, thread, generation)                                                                                        \
    X(ThreadTaskSwitch, (VT_READ_HEAD, uint32_t comm, uint32_t thread, uint32_t generation),                           \
      comm, thread, generation)                                                                                        \
    X(ThreadTaskComplete, (VT_READ_HEAD, uint32_t comm, uint32_t thread, uint32_t generation),                         \
      comm, thread, generation)                                                                                        \
    X(ThreadCreate, (VT_READ_HEAD, uint32_t comm, uint64_t count), comm, count)                                        \
    X(ThreadBegin, (VT_READ_HEAD, uint32_t comm, uint64_t count), comm, count)                                         \
    X(ThreadWait, (VT_READ_HEAD, uint32_t comm, uint64_t count), comm, count)                                          \
    X(ThreadEnd, (VT_READ_HEAD, uint32_t comm, uint64_t count), comm, count)                                           \
    X(CallingContextSample, (VT_READ_HEAD, uint32_t context, uint32_t unwound, uint32_t generator),                    \
      context, unwound, generator)                                                                                     \
    X(IoCreateHandle, (VT_READ_HEAD, uint32_t handle, uint8_t mode, uint32_t creation, uint32_t status),               \
      handle, mode, creation, status)                                                                                  \
    X(IoDuplicateHandle, (VT_READ_HEAD, uint32_t handle, uint32_t duplicate, uint32_t status),                         \
      handle, duplicate, status)                                                                                       \
    X(IoSeek, (VT_READ_HEAD, uint32_t handle, int64_t request, uint8_t whence, uint64_t result),                       \
      handle, request, whence, result)                                                                                 \
    X(IoChangeStatusFlags, (VT_READ_HEAD, uint32_t handle, uint32_t status), handle, status)                           \
    X(IoDeleteFile, (VT_READ_HEAD, uint8_t paradigm, uint32_t file), file, paradigm)                                   \
    X(IoOperationBegin, (VT_READ_HEAD, uint32_t handle, uint8_t mode, uint32_t flags, uint64_t bytes, uint64_t matching), \
      handle, mode, flags, bytes, matching)                                                                            \
    X(IoOperationTest, (VT_READ_HEAD, uint32_t handle, uint64_t matching), handle, matching)                           \
    X(IoOperationIssued, (VT_READ_HEAD, uint32_t handle, uint64_t matching), handle, matching)                         \
    X(IoOperationComplete, (VT_READ_HEAD, uint32_t handle, uint64_t bytes, uint64_t matching), handle, bytes, matching) \
    X(IoOperationCancelled, (VT_READ_HEAD, uint32_t handle, uint64_t matching), handle, matching)                      \
    X(IoAcquireLock, (VT_READ_HEAD, uint32_t handle, uint8_t type), handle, type)                                      \
    X(IoReleaseLock, (VT_READ_HEAD, uint32_t handle, uint8_t type), handle, type)                                      \
    X(IoTryLock, (VT_READ_HEAD, uint32_t handle, uint8_t type), handle, type)                                          \
    X(ProgramEnd, (VT_READ_HEAD, int64_t status), NONE, status)                                                        \
    X(NonBlockingCollectiveRequest, (VT_READ_HEAD, uint64_t request), NONE, request)                                   \
    X(NonBlockingCollectiveComplete,                                                                                   \
      (VT_READ_HEAD, uint8_t op, uint32_t comm, uint32_t root, uint64_t sent, uint64_t received, uint64_t request),    \
      comm, op, root, sent, received, request)                                                                         \
    X(MpiProbe, (VT_READ_HEAD, uint32_t peer, uint32_t comm, uint32_t tag, uint64_t message), comm, peer, tag, message) \
    X(MpiMrecv, (VT_READ_HEAD, uint64_t message, uint64_t bytes), NONE, message, bytes)                                \
    X(MpiImrecvRequest, (VT_READ_HEAD, uint64_t message, uint64_t request), NONE, message, request)                    \
    X(MpiImrecv, (VT_READ_HEAD, uint64_t request, uint64_t bytes), NONE, request, bytes)

/* Events without other values. In a trace with calling contexts, CallingContextEnter replaces Enter. */
#define VT_READ_BARE_EVENTS(X)                                                                                         \
    X(Enter, (VT_READ_HEAD, uint32_t region), region)                                                                  \
    X(Leave, (VT_READ_HEAD, uint32_t region), region)                                                                  \
    X(CallingContextEnter, (VT_READ_HEAD, uint32_t context, uint32_t unwound), context)                                \
    X(CallingContextLeave, (VT_READ_HEAD, uint32_t context), context)                                                  \
    X(MpiCollectiveBegin, (VT_READ_HEAD), NONE)                                                                        \
    X(OmpJoin, (VT_READ_HEAD), NONE)                                                                                   \
    X(RmaWinCreate, (VT_READ_HEAD, uint32_t win), win)                                                                 \
    X(RmaWinDestroy, (VT_READ_HEAD, uint32_t win), win)                                                                \
    X(RmaCollectiveBegin, (VT_READ_HEAD), NONE)                                                                        \
    X(RmaWaitChange, (VT_READ_HEAD, uint32_t win), win)                                                                \
    X(ThreadTeamBegin, (VT_READ_HEAD, uint32_t comm), comm)                                                            \
    X(ThreadTeamEnd, (VT_READ_HEAD, uint32_t comm), comm)                                                              \
    X(IoDestroyHandle, (VT_READ_HEAD, uint32_t handle), handle)                                                        \
    X(CommCreate, (VT_READ_HEAD, uint32_t comm), comm)                                                                 \
    X(CommDestroy, (VT_READ_HEAD, uint32_t comm), comm)                                                                \
    X(Unknown, (VT_READ_HEAD), NONE)

/* Events with lists, whose callbacks are written by hand. */
#define VT_READ_LIST_EVENTS(X)                                                                                         \
    X(Metric, (VT_READ_HEAD, uint32_t metric, uint8_t count, const uint8_t *types,                                     \
               const union OTF2_MetricValue_union *values), metric, member, type, value)                               \
    X(ProgramBegin, (VT_READ_HEAD, uint32_t program, uint32_t count, const uint32_t *arguments), program, count)
/* clang-format on */

enum vt_read_kind {
#define VT_READ_NUMBER(name, ...) VT_READ_##name,
    VT_READ_BARE_EVENTS(VT_READ_NUMBER) VT_READ_EVENTS(VT_READ_NUMBER) VT_READ_LIST_EVENTS(VT_READ_NUMBER)
#undef VT_READ_NUMBER
        VT_READ_KINDS
};

/* The callbacks of libotf2: each adds an event to a struct vt_batch (user). The pass that writes an archive calls them,
   too, for a listener. */
#define VT_READ_CALLBACK(name, arguments, ...) uint32_t vt_read_##name arguments;
VT_READ_BARE_EVENTS(VT_READ_CALLBACK)
VT_READ_EVENTS(VT_READ_CALLBACK)
VT_READ_LIST_EVENTS(VT_READ_CALLBACK)
#undef VT_READ_CALLBACK

#endif
