/* SPDX-License-Identifier: BSD-3-Clause */
/* The events of OTF2 3.2, each with its values in the order of the reader's callback, which is that of the writer's
   function. The names are those of the columns that Python shows. Tests compare the types with OTF2's own header and with
   the bindings. For each value X(use, type, kind, name):

     REF      the definition that the event refers to: the communicator, window or handle by which counterparts are found
     ALSO     the definition that the event refers to, in events without counterparts
     WITH     another definition
     OTHER    a second handle
     RANK     a rank in the communicator `comm`
     TARGET   a rank in the communicator of the window `win`
     TAG      the tag of a message, the operation of a collective, or a mode
     ID       the number of a request, an operation or a lock
     UNTIL    a later time
     RAW      any other value */
#ifndef VT_OTF2_EVENTS_H
#define VT_OTF2_EVENTS_H

/* clang-format off */
#define VT_E_Enter(X) X(ALSO, uint32_t, Region, region)
#define VT_E_Leave(X) X(ALSO, uint32_t, Region, region)
#define VT_E_CallingContextEnter(X) X(ALSO, uint32_t, CallingContext, context) X(RAW, uint32_t, None, unwound)
#define VT_E_CallingContextLeave(X) X(ALSO, uint32_t, CallingContext, context)
#define VT_E_MpiCollectiveBegin(X)
#define VT_E_OmpJoin(X)
#define VT_E_RmaWinCreate(X) X(REF, uint32_t, RmaWin, win)
#define VT_E_RmaWinDestroy(X) X(REF, uint32_t, RmaWin, win)
#define VT_E_RmaCollectiveBegin(X)
#define VT_E_RmaWaitChange(X) X(REF, uint32_t, RmaWin, win)
#define VT_E_ThreadTeamBegin(X) X(REF, uint32_t, Comm, comm)
#define VT_E_ThreadTeamEnd(X) X(REF, uint32_t, Comm, comm)
#define VT_E_IoDestroyHandle(X) X(REF, uint32_t, IoHandle, handle)
#define VT_E_CommCreate(X) X(REF, uint32_t, Comm, comm)
#define VT_E_CommDestroy(X) X(REF, uint32_t, Comm, comm)
#define VT_E_Unknown(X)
#define VT_E_BufferFlush(X) X(UNTIL, uint64_t, None, stop)
#define VT_E_MeasurementOnOff(X) X(TAG, uint8_t, None, mode)
#define VT_E_MpiSend(X)                                                                                                \
    X(RANK, uint32_t, None, peer) X(REF, uint32_t, Comm, comm) X(TAG, uint32_t, None, tag)                             \
    X(RAW, uint64_t, None, bytes)
#define VT_E_MpiIsend(X)                                                                                               \
    X(RANK, uint32_t, None, peer) X(REF, uint32_t, Comm, comm) X(TAG, uint32_t, None, tag)                             \
    X(RAW, uint64_t, None, bytes) X(ID, uint64_t, None, request)
#define VT_E_MpiIsendComplete(X) X(ID, uint64_t, None, request)
#define VT_E_MpiIrecvRequest(X) X(ID, uint64_t, None, request)
#define VT_E_MpiRecv(X) VT_E_MpiSend(X)
#define VT_E_MpiIrecv(X) VT_E_MpiIsend(X)
#define VT_E_MpiRequestTest(X) X(ID, uint64_t, None, request)
#define VT_E_MpiRequestCancelled(X) X(ID, uint64_t, None, request)
#define VT_E_MpiCollectiveEnd(X)                                                                                       \
    X(TAG, uint8_t, None, op) X(REF, uint32_t, Comm, comm) X(RANK, uint32_t, None, root) X(RAW, uint64_t, None, sent)  \
    X(RAW, uint64_t, None, received)
#define VT_E_OmpFork(X) X(RAW, uint32_t, None, threads)
#define VT_E_OmpAcquireLock(X) X(ID, uint32_t, None, lock) X(RAW, uint32_t, None, order)
#define VT_E_OmpReleaseLock(X) X(ID, uint32_t, None, lock) X(RAW, uint32_t, None, order)
#define VT_E_OmpTaskCreate(X) X(RAW, uint64_t, None, task)
#define VT_E_OmpTaskSwitch(X) X(RAW, uint64_t, None, task)
#define VT_E_OmpTaskComplete(X) X(RAW, uint64_t, None, task)
#define VT_E_ParameterString(X) X(ALSO, uint32_t, Parameter, parameter) X(WITH, uint32_t, String, string)
#define VT_E_ParameterInt(X) X(ALSO, uint32_t, Parameter, parameter) X(RAW, int64_t, None, value)
#define VT_E_ParameterUnsignedInt(X) X(ALSO, uint32_t, Parameter, parameter) X(RAW, uint64_t, None, value)
#define VT_E_RmaCollectiveEnd(X)                                                                                       \
    X(TAG, uint8_t, None, op) X(RAW, uint32_t, None, level) X(REF, uint32_t, RmaWin, win)                              \
    X(TARGET, uint32_t, None, root) X(RAW, uint64_t, None, sent) X(RAW, uint64_t, None, received)
#define VT_E_RmaGroupSync(X) X(RAW, uint32_t, None, level) X(REF, uint32_t, RmaWin, win) X(WITH, uint32_t, Group, group)
#define VT_E_RmaRequestLock(X)                                                                                         \
    X(REF, uint32_t, RmaWin, win) X(TARGET, uint32_t, None, peer) X(ID, uint64_t, None, lock)                          \
    X(RAW, uint8_t, None, type)
#define VT_E_RmaAcquireLock(X) VT_E_RmaRequestLock(X)
#define VT_E_RmaTryLock(X) VT_E_RmaRequestLock(X)
#define VT_E_RmaReleaseLock(X) X(REF, uint32_t, RmaWin, win) X(TARGET, uint32_t, None, peer) X(ID, uint64_t, None, lock)
#define VT_E_RmaSync(X) X(REF, uint32_t, RmaWin, win) X(TARGET, uint32_t, None, peer) X(RAW, uint8_t, None, type)
#define VT_E_RmaPut(X)                                                                                                 \
    X(REF, uint32_t, RmaWin, win) X(TARGET, uint32_t, None, peer) X(RAW, uint64_t, None, bytes)                        \
    X(ID, uint64_t, None, matching)
#define VT_E_RmaGet(X) VT_E_RmaPut(X)
#define VT_E_RmaAtomic(X)                                                                                              \
    X(REF, uint32_t, RmaWin, win) X(TARGET, uint32_t, None, peer) X(RAW, uint8_t, None, type)                          \
    X(RAW, uint64_t, None, sent) X(RAW, uint64_t, None, received) X(ID, uint64_t, None, matching)
#define VT_E_RmaOpCompleteBlocking(X) X(REF, uint32_t, RmaWin, win) X(ID, uint64_t, None, matching)
#define VT_E_RmaOpCompleteNonBlocking(X) X(REF, uint32_t, RmaWin, win) X(ID, uint64_t, None, matching)
#define VT_E_RmaOpTest(X) X(REF, uint32_t, RmaWin, win) X(ID, uint64_t, None, matching)
#define VT_E_RmaOpCompleteRemote(X) X(REF, uint32_t, RmaWin, win) X(ID, uint64_t, None, matching)
#define VT_E_ThreadFork(X) X(WITH, uint8_t, Paradigm, model) X(RAW, uint32_t, None, threads)
#define VT_E_ThreadJoin(X) X(WITH, uint8_t, Paradigm, model)
#define VT_E_ThreadAcquireLock(X)                                                                                      \
    X(WITH, uint8_t, Paradigm, model) X(ID, uint32_t, None, lock) X(RAW, uint32_t, None, order)
#define VT_E_ThreadReleaseLock(X) VT_E_ThreadAcquireLock(X)
#define VT_E_ThreadTaskCreate(X)                                                                                       \
    X(REF, uint32_t, Comm, comm) X(RANK, uint32_t, None, thread) X(RAW, uint32_t, None, generation)
#define VT_E_ThreadTaskSwitch(X) VT_E_ThreadTaskCreate(X)
#define VT_E_ThreadTaskComplete(X) VT_E_ThreadTaskCreate(X)
#define VT_E_ThreadCreate(X) X(REF, uint32_t, Comm, comm) X(RAW, uint64_t, None, count)
#define VT_E_ThreadBegin(X) X(REF, uint32_t, Comm, comm) X(RAW, uint64_t, None, count)
#define VT_E_ThreadWait(X) X(REF, uint32_t, Comm, comm) X(RAW, uint64_t, None, count)
#define VT_E_ThreadEnd(X) X(REF, uint32_t, Comm, comm) X(RAW, uint64_t, None, count)
#define VT_E_CallingContextSample(X)                                                                                   \
    X(ALSO, uint32_t, CallingContext, context) X(RAW, uint32_t, None, unwound)                                         \
    X(WITH, uint32_t, InterruptGenerator, generator)
#define VT_E_IoCreateHandle(X)                                                                                         \
    X(REF, uint32_t, IoHandle, handle) X(RAW, uint8_t, None, mode) X(RAW, uint32_t, None, creation)                    \
    X(RAW, uint32_t, None, status)
#define VT_E_IoDuplicateHandle(X)                                                                                      \
    X(REF, uint32_t, IoHandle, handle) X(OTHER, uint32_t, IoHandle, duplicate) X(RAW, uint32_t, None, status)
#define VT_E_IoSeek(X)                                                                                                 \
    X(REF, uint32_t, IoHandle, handle) X(RAW, int64_t, None, request) X(RAW, uint8_t, None, whence)                    \
    X(RAW, uint64_t, None, result)
#define VT_E_IoChangeStatusFlags(X) X(REF, uint32_t, IoHandle, handle) X(RAW, uint32_t, None, status)
#define VT_E_IoDeleteFile(X) X(WITH, uint8_t, IoParadigm, paradigm) X(ALSO, uint32_t, IoFile, file)
#define VT_E_IoOperationBegin(X)                                                                                       \
    X(REF, uint32_t, IoHandle, handle) X(RAW, uint8_t, None, mode) X(RAW, uint32_t, None, flags)                       \
    X(RAW, uint64_t, None, bytes) X(ID, uint64_t, None, matching)
#define VT_E_IoOperationTest(X) X(REF, uint32_t, IoHandle, handle) X(ID, uint64_t, None, matching)
#define VT_E_IoOperationIssued(X) X(REF, uint32_t, IoHandle, handle) X(ID, uint64_t, None, matching)
#define VT_E_IoOperationComplete(X)                                                                                    \
    X(REF, uint32_t, IoHandle, handle) X(RAW, uint64_t, None, bytes) X(ID, uint64_t, None, matching)
#define VT_E_IoOperationCancelled(X) X(REF, uint32_t, IoHandle, handle) X(ID, uint64_t, None, matching)
#define VT_E_IoAcquireLock(X) X(REF, uint32_t, IoHandle, handle) X(RAW, uint8_t, None, type)
#define VT_E_IoReleaseLock(X) X(REF, uint32_t, IoHandle, handle) X(RAW, uint8_t, None, type)
#define VT_E_IoTryLock(X) X(REF, uint32_t, IoHandle, handle) X(RAW, uint8_t, None, type)
#define VT_E_ProgramEnd(X) X(RAW, int64_t, None, status)
#define VT_E_NonBlockingCollectiveRequest(X) X(ID, uint64_t, None, request)
#define VT_E_NonBlockingCollectiveComplete(X)                                                                          \
    X(TAG, uint8_t, None, op) X(REF, uint32_t, Comm, comm) X(RANK, uint32_t, None, root) X(RAW, uint64_t, None, sent)  \
    X(RAW, uint64_t, None, received) X(ID, uint64_t, None, request)
#define VT_E_MpiProbe(X)                                                                                               \
    X(RANK, uint32_t, None, peer) X(REF, uint32_t, Comm, comm) X(TAG, uint32_t, None, tag)                             \
    X(ID, uint64_t, None, message)
#define VT_E_MpiMrecv(X) X(RAW, uint64_t, None, message) X(RAW, uint64_t, None, bytes)
#define VT_E_MpiImrecvRequest(X) X(RAW, uint64_t, None, message) X(ID, uint64_t, None, request)
#define VT_E_MpiImrecv(X) X(ID, uint64_t, None, request) X(RAW, uint64_t, None, bytes)
#define VT_E_Metric(X)                                                                                                 \
    X(ALSO, uint32_t, Metric, metric) X(RAW, uint8_t, None, count) X(RAW, const uint8_t *, None, types)                \
    X(RAW, const union OTF2_MetricValue_union *, None, values)
#define VT_E_ProgramBegin(X)                                                                                           \
    X(ALSO, uint32_t, String, program) X(RAW, uint32_t, None, count) X(RAW, const uint32_t *, None, arguments)

/* The events that vtunify writes. */
#define VT_OTF2_EVENTS(X)                                                                                              \
    X(Enter) X(Leave) X(CallingContextEnter) X(CallingContextLeave) X(CallingContextSample) X(BufferFlush)             \
    X(MeasurementOnOff) X(MpiSend) X(MpiRecv) X(MpiIsend) X(MpiIsendComplete) X(MpiIrecvRequest) X(MpiIrecv)           \
    X(MpiRequestTest) X(MpiRequestCancelled) X(MpiCollectiveBegin) X(MpiCollectiveEnd)                                 \
    X(NonBlockingCollectiveRequest) X(NonBlockingCollectiveComplete) X(CommCreate) X(CommDestroy) X(Metric)            \
    X(RmaWinCreate) X(RmaWinDestroy) X(RmaCollectiveBegin) X(RmaCollectiveEnd) X(RmaGroupSync) X(RmaRequestLock)       \
    X(RmaAcquireLock) X(RmaTryLock) X(RmaReleaseLock) X(RmaSync) X(RmaPut) X(RmaGet) X(RmaAtomic)                      \
    X(RmaOpCompleteBlocking) X(RmaOpCompleteNonBlocking) X(RmaOpTest) X(RmaOpCompleteRemote) X(IoCreateHandle)         \
    X(IoDestroyHandle) X(IoDuplicateHandle) X(IoSeek) X(IoChangeStatusFlags) X(IoDeleteFile) X(IoOperationBegin)       \
    X(IoOperationTest) X(IoOperationIssued) X(IoOperationComplete) X(IoOperationCancelled) X(IoAcquireLock)            \
    X(IoReleaseLock) X(IoTryLock) X(ThreadCreate) X(ThreadBegin) X(ThreadEnd) X(ThreadWait) X(ThreadAcquireLock)       \
    X(ThreadReleaseLock) X(ThreadFork) X(ThreadJoin) X(ThreadTeamBegin) X(ThreadTeamEnd) X(ThreadTaskCreate)           \
    X(ThreadTaskSwitch) X(ThreadTaskComplete)

/* The events that the reader knows: those with other values than their reference; those without, whose reference is
   all that the reader keeps; those with lists, whose callbacks are written by hand, with the names of their columns. In a
   trace with calling contexts, CallingContextEnter replaces Enter. */
#define VT_READ_EVENTS(X)                                                                                              \
    X(BufferFlush) X(MeasurementOnOff) X(MpiSend) X(MpiIsend) X(MpiIsendComplete) X(MpiIrecvRequest) X(MpiRecv)        \
    X(MpiIrecv) X(MpiRequestTest) X(MpiRequestCancelled) X(MpiCollectiveEnd) X(OmpFork) X(OmpAcquireLock)              \
    X(OmpReleaseLock) X(OmpTaskCreate) X(OmpTaskSwitch) X(OmpTaskComplete) X(ParameterString) X(ParameterInt)          \
    X(ParameterUnsignedInt) X(RmaCollectiveEnd) X(RmaGroupSync) X(RmaRequestLock) X(RmaAcquireLock) X(RmaTryLock)      \
    X(RmaReleaseLock) X(RmaSync) X(RmaPut) X(RmaGet) X(RmaAtomic) X(RmaOpCompleteBlocking)                             \
    X(RmaOpCompleteNonBlocking) X(RmaOpTest) X(RmaOpCompleteRemote) X(ThreadFork) X(ThreadJoin) X(ThreadAcquireLock)   \
    X(ThreadReleaseLock) X(ThreadTaskCreate) X(ThreadTaskSwitch) X(ThreadTaskComplete) X(ThreadCreate) X(ThreadBegin)  \
    X(ThreadWait) X(ThreadEnd) X(CallingContextSample) X(IoCreateHandle) X(IoDuplicateHandle) X(IoSeek)                \
    X(IoChangeStatusFlags) X(IoDeleteFile) X(IoOperationBegin) X(IoOperationTest) X(IoOperationIssued)                 \
    X(IoOperationComplete) X(IoOperationCancelled) X(IoAcquireLock) X(IoReleaseLock) X(IoTryLock) X(ProgramEnd)        \
    X(NonBlockingCollectiveRequest) X(NonBlockingCollectiveComplete) X(MpiProbe) X(MpiMrecv) X(MpiImrecvRequest)       \
    X(MpiImrecv)
#define VT_READ_BARE_EVENTS(X)                                                                                         \
    X(Enter) X(Leave) X(CallingContextEnter) X(CallingContextLeave) X(MpiCollectiveBegin) X(OmpJoin) X(RmaWinCreate)   \
    X(RmaWinDestroy) X(RmaCollectiveBegin) X(RmaWaitChange) X(ThreadTeamBegin) X(ThreadTeamEnd) X(IoDestroyHandle)     \
    X(CommCreate) X(CommDestroy) X(Unknown)
#define VT_READ_LIST_EVENTS(X) X(Metric, metric, member, type, value) X(ProgramBegin, program, count)
/* clang-format on */

/* The first text for the values that are the event's reference, the second one for all others. */
#define VT_IF_REF(use, text, other) VT_PICK(VT_IS_##use text, other)
#define VT_IS_REF ~,
#define VT_IS_ALSO ~,
#define VT_PICK(...) VT_SECOND(__VA_ARGS__, )
#define VT_SECOND(first, second, ...) second

#define VT_DECLARED(use, type, kind, name) , type name
#define VT_PARAMETER(use, type, kind, name) , type

#endif
