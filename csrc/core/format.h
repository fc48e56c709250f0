/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of all local files. Runtime and unifier share nothing else. docs/file-format.md draws the layout. The
   tables are the only statement of their facts: csrc/otf2_writer/schema.c serves them to Python. All numbers are little
   endian. Sizes are in bytes, unless a name says words (8 bytes). */
#ifndef VT_FORMAT_H
#define VT_FORMAT_H

#include <stdint.h>
#include <string.h>

#define VT_FORMAT_VERSION 3
#define VT_FILE_MAGIC "VTRACE\r\n" /* a transfer in text mode breaks it visibly */
#define VT_BLOCK_MAGIC "VTB1"

#define VT_CHUNK_SIZE 65536u
#define VT_CHUNK_DATA 512u /* offset of the records in a chunk */
#define VT_CHUNK_WORDS ((VT_CHUNK_SIZE - VT_CHUNK_DATA) / 8)
#define VT_OPEN_MAX 32     /* open regions in the head of a chunk; later leaves show the deeper ones */
#define VT_FILE_HEAD 2048u /* size of struct vt_file in a file */
#define VT_LAST_CHUNK 4096u /* offset in chunk 0 of a buffer of a shorter chunk of definitions */
#define VT_NO_RANK 0xffffffffu
#define VT_NO_PID_SPACE 1u /* unknown: no process may look for the pid */
#define VT_SAMPLES 3 /* content of chunks, and of blocks of events files; as content of a file, 3 is the buffer */
#define VT_PROFILE 4 /* content of chunks, and of blocks of events files */

/* ---- Records: words of 8 bytes -------------------------------------------------------------
   bits 63..32  clock ticks since the location's previous record
   bits 31..0   what happened:
     function:  bit 31 = 1, bit 30 = leave, bits 29..0 = offset in the process's code space
     other:     bit 31 = 0, bits 30..24 = kind, bits 23..21 = payload words, bits 20..0 = id
   Payload words follow as they are. A record never crosses the end of its chunk. */
#define VT_FUNCTION 0x80000000u
#define VT_FUNCTION_LEAVE 0x40000000u
#define VT_CODE_MASK 0x3fffffffu
#define VT_ID_MAX 0x1fffffu
#define VT_WHAT(kind, words, id) ((uint32_t)(kind) << 24 | (uint32_t)(words) << 21 | (uint32_t)(id))
#define VT_KIND(what) ((what) >> 24 & 0x7f)
#define VT_WORDS(what) ((what) & VT_FUNCTION ? 0u : (what) >> 21 & 7)
#define VT_ID(what) ((what) & VT_ID_MAX)

/* Classes of records. The head of a block states the classes of records that the block may have. The unifier skips
   blocks without the classes that it needs. NEW_CODE: functions or addresses that earlier blocks of the location do not
   have. REGION: enter and leave of named regions. CONTROL: lost, on, off, flush, limit, time. */
/* clang-format off */
#define VT_CLASSES(X)                                                                                                  \
    X(FUNCTION, 0x1) X(NEW_CODE, 0x2) X(REGION, 0x4) X(MESSAGE, 0x8) X(COLLECTIVE, 0x10) X(THREAD, 0x20) X(IO, 0x40)   \
    X(MEMORY, 0x80) X(METRIC, 0x100) X(CONTROL, 0x200) X(RMA, 0x400) X(ATTRIBUTE, 0x800) X(USER, 0x1000) X(TEAM, 0x2000)
/* clang-format on */
enum vt_class {
#define VT_CLASS_ENUM(name, bit) VT_CLASS_##name = bit,
    VT_CLASSES(VT_CLASS_ENUM)
#undef VT_CLASS_ENUM
};
#define VT_CLASS_ADDRESS (VT_CLASS_FUNCTION | VT_CLASS_NEW_CODE)
#define VT_CLASS_HEAP (VT_CLASS_REGION | VT_CLASS_MEMORY)
#define VT_CLASS_ALL 0xffffffffu
/* The classes that VT_MAX_SIZE stops first, in a LIMIT record: functions, calls of I/O and of memory, the user API,
   each with its regions. MPI, threads and processes continue. */
#define VT_CLASS_FIRST                                                                                                 \
    (VT_CLASS_FUNCTION | VT_CLASS_NEW_CODE | VT_CLASS_IO | VT_CLASS_MEMORY | VT_CLASS_METRIC | VT_CLASS_USER)

/* clang-format off */
/* What the id of a record refers to. */
#define VT_REFERENCES(X)                                                                                               \
    X(NONE) X(reason) X(region) X(comm) X(metric) X(metric_group) X(attribute) X(window) X(handle) X(file) X(team)     \
    X(paradigm) X(marker) X(user_comm)
/* The functions of the unifier that write OTF2 events, see csrc/otf2_writer/transcode.c. */
#define VT_HANDLERS(X)                                                                                                 \
    X(time) X(enter) X(leave) X(enter_address) X(leave_address) X(lost) X(on_off) X(flush) X(limit) X(owner) X(thinned) \
    X(left_out) X(message) X(request) X(collective) X(metric) X(metric_group) X(attribute) X(rma) X(io) X(heap_enter)   \
    X(heap_leave) X(heap_sums) X(team) X(thread) X(lock) X(user) X(processor_wait) X(blocked)
/* clang-format on */
enum vt_reference {
#define VT_REFERENCE_ENUM(name) VT_REFERS_TO_##name,
    VT_REFERENCES(VT_REFERENCE_ENUM)
#undef VT_REFERENCE_ENUM
};
enum vt_handler {
#define VT_HANDLER_ENUM(name) VT_HANDLER_##name,
    VT_HANDLERS(VT_HANDLER_ENUM)
#undef VT_HANDLER_ENUM
};

/* What a record does to the stack of open regions of its location. END: open regions end. */
enum vt_stack_effect {
    VT_STACK_NONE,
    VT_STACK_ENTER,
    VT_STACK_LEAVE,
    VT_STACK_ENTER_ADDRESS,
    VT_STACK_LEAVE_ADDRESS,
    VT_STACK_END
};

/* What a record is among the events, a sum of these. COUNTED: an event of the program, which counts if it is lost.
   WRITTEN: becomes an OTF2 event. TIMED: the location's time advances to it; the time of other records is no event's
   time, or is found from further records. OWNS: the attributes before it belong to it; else they stay for the next. */
enum vt_record_role {
    VT_COUNTED = 1,
    VT_WRITTEN = 2,
    VT_TIMED = 4,
    VT_OWNS = 8,
    VT_RECORD_EVENT = VT_COUNTED | VT_WRITTEN | VT_TIMED | VT_OWNS,
    VT_RECORD_TEAM = VT_COUNTED | VT_WRITTEN | VT_OWNS,
    VT_RECORD_GROUP = VT_COUNTED | VT_WRITTEN | VT_TIMED, /* values of counters */
    VT_RECORD_VALUE = VT_COUNTED, /* of the next event */
    VT_RECORD_SUM = VT_COUNTED | VT_TIMED,
    VT_RECORD_STATE = VT_WRITTEN | VT_TIMED, /* of recording */
    VT_RECORD_OWNER = VT_TIMED | VT_OWNS, /* of the location */
    VT_RECORD_NOTE = 0
};

/* clang-format off */
/* The kinds of records: X(name, number, payload words, class, reference of the id, effect on the stack (enum vt_stack_effect),
   role (enum vt_record_role), handler in the unifier (VT_HANDLERS), payload).

   The payload is a text with one entry for each word: "value", or "low/high" for two values of 32 bits. A value is a
   name, which may have a type: name:rank (VT_NO_RANK: none), name:size (VT_IO_UNKNOWN: unknown), name:int (signed),
   name=ENUMERATION, name&FLAGS. An enumeration is one of OTF2 or of this header.

   peer: rank in the communicator (of the remote group for an inter-communicator), for RMA in the window's
   communicator; no rank: all. op may have VT_FROM_ALL: the process gets something from every other member. matching:
   joins an operation with its completion. heap, blocks: bytes and blocks in use, the sums of what the thread
   allocated less what it freed. nesting: number of teams around the thread, a new one included. number: of a thread,
   from 1, unique in the process. */
#define VT_FROM_ALL 0x100u
#define VT_KINDS(X)                                                                                                    \
    X(TIME, 1, 1, CONTROL, NONE, NONE, NOTE, time, "gap")                                                              \
      /* ticks since the previous record, which 32 bits do not hold */                                                 \
    X(ENTER, 2, 0, REGION, region, ENTER, EVENT, enter, "")                                                            \
    X(LEAVE, 3, 0, REGION, region, LEAVE, EVENT, leave, "")                                                            \
    X(ENTER_ADDRESS, 4, 1, ADDRESS, NONE, ENTER_ADDRESS, EVENT, enter_address, "address")                              \
      /* of a function outside the code space */                                                                       \
    X(LEAVE_ADDRESS, 5, 1, ADDRESS, NONE, LEAVE_ADDRESS, EVENT, leave_address, "address")                              \
    X(LOST, 6, 1, CONTROL, reason, NONE, NOTE, lost, "events")                                                         \
      /* reason: enum vt_lost; events since the location's last LOST */                                                \
    X(OFF, 7, 0, CONTROL, NONE, NONE, STATE, on_off, "")                                                               \
    X(ON, 8, 0, CONTROL, NONE, NONE, STATE, on_off, "")                                                                \
    X(FLUSH, 9, 1, CONTROL, NONE, NONE, STATE, flush, "duration")                                                      \
      /* ticks of a flush that began at the time of the record */                                                      \
    X(LIMIT, 10, 1, CONTROL, reason, NONE, STATE, limit, "classes&vt_class")                                           \
      /* from here on the location records none of these classes; VT_CLASS_ALL: nothing more */                        \
    X(THREAD, 11, 1, THREAD, NONE, END, OWNER, owner, "thread")                                                        \
      /* this thread (kernel id) takes over the location; open regions end */                                          \
    X(PROCESSOR_WAIT, 12, 1, CONTROL, NONE, NONE, NOTE, processor_wait, "ns")                                          \
      /* the thread could run, but waited for a processor, mostly just before the next record */                        \
    X(BLOCKED, 13, 3, CONTROL, NONE, NONE, NOTE, blocked, "ns within site")                                            \
      /* the thread could not run: it was asleep in the kernel, for ns of the last `within` ticks (0: since its last */ \
      /* event); site: text of the call that slept, 0: unknown, and VT_SITE_ flags */                                  \
    X(SEND, 16, 2, MESSAGE, comm, NONE, EVENT, message, "peer:rank/tag bytes:size") /* before the call */              \
    X(RECV, 17, 2, MESSAGE, comm, NONE, EVENT, message, "peer:rank/tag bytes:size") /* after the call */               \
    X(ISEND, 18, 3, MESSAGE, comm, NONE, EVENT, message, "peer:rank/tag bytes:size request")                           \
    X(ISEND_COMPLETE, 19, 1, MESSAGE, NONE, NONE, EVENT, request, "request")                                           \
    X(IRECV_REQUEST, 20, 1, MESSAGE, NONE, NONE, EVENT, request, "request")                                            \
    X(IRECV, 21, 3, MESSAGE, comm, NONE, EVENT, message, "peer:rank/tag bytes:size request")                           \
    X(REQUEST_TEST, 22, 1, MESSAGE, NONE, NONE, EVENT, request, "request") /* tested, not complete */                  \
    X(REQUEST_CANCELLED, 23, 1, MESSAGE, NONE, NONE, EVENT, request, "request")                                        \
    X(COLL_BEGIN, 24, 0, COLLECTIVE, NONE, NONE, EVENT, collective, "")                                                \
    X(COLL_END, 25, 3, COLLECTIVE, comm, NONE, EVENT, collective, "op=OTF2_CollectiveOp/root:rank sent received")      \
      /* bytes */                                                                                                      \
    X(COLL_REQUEST, 26, 1, COLLECTIVE, NONE, NONE, EVENT, request, "request") /* of a non-blocking collective */       \
    X(COLL_COMPLETE, 27, 4, COLLECTIVE, comm, NONE, EVENT, collective,                                                 \
      "op=OTF2_CollectiveOp/root:rank sent received request")                                                          \
    X(COMM_CREATE, 28, 0, COLLECTIVE, comm, NONE, EVENT, collective, "")                                               \
    X(COMM_DESTROY, 29, 0, COLLECTIVE, comm, NONE, EVENT, collective, "")                                              \
    X(METRIC, 40, 1, METRIC, metric, NONE, EVENT, metric, "value") /* in the type of its definition */                 \
    X(ATTRIBUTE, 41, 1, ATTRIBUTE, attribute, NONE, VALUE, attribute, "value")                                         \
      /* in the type of its definition; belongs to the next event except METRIC_GROUP */                               \
    X(METRIC_GROUP, 42, 7, METRIC, metric_group, NONE, GROUP, metric_group,                                            \
      "value1 value2 value3 value4 value5 value6 value7") /* of counters read at one moment; unused values are 0 */    \
    X(RMA_WIN_CREATE, 48, 0, RMA, window, NONE, EVENT, rma, "")                                                        \
    X(RMA_WIN_DESTROY, 49, 0, RMA, window, NONE, EVENT, rma, "")                                                       \
    X(RMA_COLL_BEGIN, 50, 0, RMA, NONE, NONE, EVENT, rma, "")                                                          \
    X(RMA_COLL_END, 51, 4, RMA, window, NONE, EVENT, rma,                                                              \
      "op=OTF2_CollectiveOp/root:rank level&OTF2_RmaSyncLevel sent received")                                          \
    X(RMA_GROUP_SYNC, 52, 2, RMA, window, NONE, EVENT, rma, "level&OTF2_RmaSyncLevel group")                           \
    X(RMA_REQUEST_LOCK, 53, 2, RMA, window, NONE, EVENT, rma, "peer:rank/lock_type=OTF2_LockType lock")                \
    X(RMA_ACQUIRE_LOCK, 54, 2, RMA, window, NONE, EVENT, rma, "peer:rank/lock_type=OTF2_LockType lock")                \
    X(RMA_TRY_LOCK, 55, 2, RMA, window, NONE, EVENT, rma, "peer:rank/lock_type=OTF2_LockType lock")                    \
    X(RMA_RELEASE_LOCK, 56, 2, RMA, window, NONE, EVENT, rma, "peer:rank lock")                                        \
    X(RMA_SYNC, 57, 1, RMA, window, NONE, EVENT, rma, "peer:rank/sync_type=OTF2_RmaSyncType")                          \
    X(RMA_PUT, 59, 3, RMA, window, NONE, EVENT, rma, "peer:rank bytes:size matching")                                  \
    X(RMA_GET, 60, 3, RMA, window, NONE, EVENT, rma, "peer:rank bytes:size matching")                                  \
    X(RMA_ATOMIC, 61, 4, RMA, window, NONE, EVENT, rma,                                                                \
      "peer:rank/atomic_type=OTF2_RmaAtomicType sent received matching")                                               \
    X(RMA_COMPLETE_BLOCKING, 62, 1, RMA, window, NONE, EVENT, rma, "matching")                                         \
    X(RMA_COMPLETE_NON_BLOCKING, 63, 1, RMA, window, NONE, EVENT, rma, "matching")                                     \
    X(RMA_TEST, 64, 1, RMA, window, NONE, EVENT, rma, "matching")                                                      \
    X(RMA_COMPLETE_REMOTE, 65, 1, RMA, window, NONE, EVENT, rma, "matching")                                           \
    X(IO_CREATE, 72, 2, IO, handle, NONE, EVENT, io,                                                                   \
      "access=OTF2_IoAccessMode/creation&OTF2_IoCreationFlag status&OTF2_IoStatusFlag")                                \
    X(IO_DESTROY, 73, 0, IO, handle, NONE, EVENT, io, "")                                                              \
    X(IO_DUPLICATE, 74, 1, IO, handle, NONE, EVENT, io, "new/status&OTF2_IoStatusFlag")                                \
      /* the id is the old handle */                                                                                   \
    X(IO_SEEK, 75, 3, IO, handle, NONE, EVENT, io, "asked:int whence=OTF2_IoSeekOption offset:int")                    \
      /* offset: the new one */                                                                                        \
    X(IO_STATUS, 76, 1, IO, handle, NONE, EVENT, io, "status&OTF2_IoStatusFlag") /* the new flags */                   \
    X(IO_DELETE, 77, 1, IO, file, NONE, EVENT, io, "paradigm=vt_io_paradigm")                                          \
    X(IO_BEGIN, 78, 3, IO, handle, NONE, EVENT, io,                                                                    \
      "mode=OTF2_IoOperationMode/flags&OTF2_IoOperationFlag bytes:size matching")                                      \
    X(IO_ISSUED, 79, 1, IO, handle, NONE, EVENT, io, "matching")                                                       \
    X(IO_TEST, 80, 1, IO, handle, NONE, EVENT, io, "matching")                                                         \
    X(IO_COMPLETE, 81, 2, IO, handle, NONE, EVENT, io, "bytes:size matching") /* transferred; IO_BEGIN: requested */   \
    X(IO_CANCELLED, 82, 1, IO, handle, NONE, EVENT, io, "matching")                                                    \
    X(IO_ACQUIRE_LOCK, 83, 1, IO, handle, NONE, EVENT, io, "lock_type=OTF2_LockType")                                  \
    X(IO_RELEASE_LOCK, 84, 1, IO, handle, NONE, EVENT, io, "lock_type=OTF2_LockType")                                  \
    X(IO_TRY_LOCK, 85, 1, IO, handle, NONE, EVENT, io, "lock_type=OTF2_LockType")                                      \
    X(IO_DONE, 86, 1, IO, handle, NONE, EVENT, io, "bytes:size")                                                       \
      /* transferred; ends the region's IO_READ, IO_WRITE or IO_FLUSH */                                               \
    X(ENTER_ALLOC, 88, 1, HEAP, region, ENTER, EVENT, heap_enter, "bytes:size") /* requested */                        \
    X(LEAVE_ALLOC, 89, 3, HEAP, region, LEAVE, EVENT, heap_leave, "block heap:int blocks:int")                         \
      /* block: address or 0 */                                                                                        \
    X(ENTER_FREE, 90, 4, HEAP, region, ENTER, EVENT, heap_enter, "block bytes:size heap:int blocks:int")               \
      /* the sums without the block */                                                                                 \
    X(ENTER_REALLOC, 91, 3, HEAP, region, ENTER, EVENT, heap_enter, "block old_bytes bytes:size")                      \
      /* the old block; the leave is LEAVE_ALLOC */                                                                    \
    X(HEAP, 92, 2, MEMORY, NONE, NONE, SUM, heap_sums, "heap:int blocks:int")                                          \
      /* changed by calls that are not recorded */                                                                     \
    X(IO_READ, 93, 1, IO, handle, NONE, EVENT, io, "bytes:size")                                                       \
      /* requested by the one blocking operation of the innermost region. */                                           \
    X(IO_WRITE, 94, 1, IO, handle, NONE, EVENT, io, "bytes:size")                                                      \
      /* The order of these three is that of OTF2_IoOperationMode. */                                                  \
    X(IO_FLUSH, 95, 1, IO, handle, NONE, EVENT, io, "bytes:size")                                                      \
    X(THREAD_FORK, 96, 1, TEAM, region, NONE, TEAM, team, "requested/nesting")                                         \
      /* the region of the construct is entered */                                                                     \
    X(THREAD_JOIN, 97, 1, TEAM, region, NONE, TEAM, team, "nesting") /* the region is left */                          \
    X(THREAD_TEAM_BEGIN, 98, 2, TEAM, team, NONE, TEAM, team, "entered/nesting joined")                                \
      /* entered: region or 0; joined: ticks when the team was joined whose end the thread last waited for; 0: */      \
      /* unknown, the thread waited until now */                                                                       \
    X(THREAD_TEAM_END, 99, 1, TEAM, region, NONE, TEAM, team, "nesting")                                               \
      /* the region of the wait for the others is entered; the wait lasts until THREAD_JOIN, the next */               \
      /* THREAD_TEAM_BEGIN or THREAD_TEAM_JOINED */                                                                    \
    X(THREAD_TASK_CREATE, 100, 2, TEAM, NONE, NONE, TEAM, team, "task/creator team")                                   \
      /* creator: location; task: number there, from 1 */                                                              \
    X(THREAD_TASK_BEGIN, 101, 2, TEAM, region, NONE, TEAM, team, "task/creator team")                                  \
      /* the region of the task is entered */                                                                          \
    X(THREAD_TASK_END, 102, 3, TEAM, region, NONE, TEAM, team, "task/creator team/later next_task/next_creator")       \
      /* the region is left; later: 1 if the task will continue; next_task: continues in the thread, 0: the */         \
      /* implicit task */                                                                                              \
    X(THREAD_TEAM_JOINED, 103, 1, TEAM, NONE, NONE, TEAM, team, "joined")                                              \
      /* as in THREAD_TEAM_BEGIN; the thread ends */                                                                   \
    X(THREAD_CREATE, 104, 1, THREAD, NONE, NONE, EVENT, thread, "number")                                              \
    X(THREAD_BEGIN, 105, 1, THREAD, NONE, NONE, EVENT, thread, "number") /* on the new thread's location */            \
    X(THREAD_END, 106, 1, THREAD, NONE, NONE, EVENT, thread, "number")                                                 \
    X(THREAD_WAIT, 107, 1, THREAD, NONE, NONE, EVENT, thread, "number")                                                \
      /* this thread waited for that thread, which has ended */                                                        \
    X(ACQUIRE_LOCK, 108, 1, THREAD, paradigm, NONE, EVENT, lock, "lock/order")                                         \
      /* order: how often the lock was acquired before */                                                              \
    X(RELEASE_LOCK, 109, 1, THREAD, paradigm, NONE, EVENT, lock, "lock/order")                                         \
      /* order: as when the lock was acquired */                                                                       \
    X(REWIND_MARK, 116, 0, CONTROL, NONE, NONE, EVENT, user, "") /* a rewind may return to here */                     \
    X(REWOUND, 117, 1, CONTROL, NONE, NONE, EVENT, user, "duration")                                                   \
      /* ticks from here on; their records were discarded */                                                           \
    X(MARKER, 118, 1, USER, marker, NONE, EVENT, user, "text")                                                         \
    X(COMMENT, 119, 1, USER, NONE, NONE, EVENT, user, "text")                                                          \
    X(USER_SEND, 120, 2, USER, user_comm, NONE, EVENT, user, "tag bytes:size")                                         \
    X(USER_RECV, 121, 2, USER, user_comm, NONE, EVENT, user, "tag bytes:size")                                         \
    X(SECTION, 122, 1, USER, metric, NONE, EVENT, metric, "value")                                                     \
      /* 1: a section begins, 0: it ends; its metric has the unit VT_SECTION_UNIT */                                   \
    X(THINNED, 14, 1, CONTROL, NONE, NONE, NOTE, thinned, "below")                                                     \
      /* VT_BUDGET: from here on calls of fewer ticks are only counted, in the profile; 0: none */                    \
    X(LEFT_OUT, 15, 1, CONTROL, NONE, NONE, NOTE, left_out, "duration")                                                \
      /* VT_KEEP: calls in the iteration that lasted so many ticks until here are only counted, in the profile */
/* clang-format on */

/* Flags above the text's id in the site of BLOCKED: the call may wait for another process, or ends at a time. */
#define VT_SITE_SHARED (UINT64_C(1) << 32)
#define VT_SITE_TIMED (UINT64_C(1) << 33)

#define VT_SECTION_UNIT "section"

/* ---- Samples: words of 8 bytes, in chunks and blocks of the content VT_SAMPLES ----------------
   word 0   ticks
   word 1   weight: ns of the clock in SAMPLING (vt_sample_clock) that the sample stands for; with PERF: events
   word 2   bits 0..15 n, bits 16..31 shared, bits 32..39 enum vt_sample_end, bits 40..63 overruns of the timer
   n words  the innermost frames of the stack, innermost first; the other frames are the `shared` outermost frames of
            the previous sample in the chunk

   A frame is an offset in the code space, as in a function event, or VT_OPEN_ADDRESS and an address outside the code
   space. VT_FRAME_OWN: the frame is in a library of vtrace. VT_FRAME_PYTHON: the frame of a Python function: id of
   PYTHON_CODE shifted by VT_PYTHON_UNIT_BITS, and the number of the instruction there. The place of the innermost
   frame, and of a frame that a signal has interrupted, is the instruction; the place of any other frame is the last
   byte of its call.

   An entry with the values of counters may precede a sample: VT_SAMPLE_VALUES stands in place of vt_sample_end, and the
   n words are METRIC_GROUP records without times. Weight, shared and overruns of the entry are 0. */
#define VT_SAMPLE_WORDS 3
#define VT_SAMPLE_VALUES 255
#define VT_SAMPLE_FRAMES 512 /* maximum; a deeper stack lacks its outermost frames */
#define VT_FRAME_OWN 0x4000000000000000u
#define VT_FRAME_PYTHON 0x2000000000000000u
#define VT_PYTHON_UNIT_BITS 24
#define VT_PYTHON_UNIT_MASK 0xffffffu
#define VT_SAMPLE_HEAD(n, shared, end, overruns)                                                                       \
    ((uint64_t)(n) | (uint64_t)(shared) << 16 | (uint64_t)(end) << 32 | (uint64_t)(overruns) << 40)
#define VT_SAMPLE_OVERRUNS_MOST 0xffffffu

/* Reasons why a stack has no further outer frame. */
#define VT_SAMPLE_END_MOST 5 /* above all of these */
#define VT_SAMPLE_ENDS(X)                                                                                              \
    X(COMPLETE, 0) /* the last frame is the outermost one */                                                           \
    X(NO_TABLE, 1) /* code without a table: generated at run time, or loaded just before */                            \
    X(NO_RULE, 2) /* the table does not say how to unwind here */                                                      \
    X(STACK, 3) /* the next frame would be outside of the stack */                                                     \
    X(DEPTH, 4) /* VT_SAMPLE_FRAMES reached */
enum vt_sample_end {
#define VT_SAMPLE_END_ENUM(name, number) VT_SAMPLE_##name = number,
    VT_SAMPLE_ENDS(VT_SAMPLE_END_ENUM)
#undef VT_SAMPLE_END_ENUM
};

/* The clock that samples a thread: its CPU time, elapsed time, or the count of a perf event. */
#define VT_SAMPLE_CLOCKS(X) X(CPU, 1) X(WALL, 2) X(PERF, 3)
enum vt_sample_clock {
#define VT_SAMPLE_CLOCK_ENUM(name, number) VT_SAMPLE_CLOCK_##name = number,
    VT_SAMPLE_CLOCKS(VT_SAMPLE_CLOCK_ENUM)
#undef VT_SAMPLE_CLOCK_ENUM
};

/* ---- Profile (VT_MODE=PROFILE, VT_BUDGET): rows of struct vt_profile_row, in chunks and blocks of VT_PROFILE ----
   A row is a call path of the location; with VT_BUDGET it has the calls that are not among the events. Of two blocks with the same sequence the later one holds; a chunk in a buffer
   holds instead of its blocks. Rows of one path in several chunks add up. Times are ticks. */
struct vt_profile_row {
    uint64_t what; /* the innermost region, as in vt_chunk.open; 0: the path outside all regions */
    uint32_t parent, number; /* number: sequence * VT_PROFILE_ROWS + place in the chunk; a parent's is smaller */
    /* twice the number of calls that have ended, plus 1 while one is open; less 2 if the table began inside a call. Of
       the path outside all regions: twice the number of calls without a row, since the table was full */
    int64_t turns;
    /* of the calls that have ended: sum, minimum (UINT64_MAX: none), maximum. Of the path outside all regions: least is
       the time of the first record, most the most bytes that the thread has allocated less those that it has freed,
       ticks the time while recording was off */
    uint64_t ticks, least, most;
    /* sum of the squares of the times: low half, high half. Of the path outside: time since which recording is off, or 0 */
    uint64_t squares[2];
    uint64_t entered; /* time at which the open call began; of the path outside: time of the last record */
    uint64_t out, in; /* bytes sent, written, allocated; bytes received, read, freed */
};
#define VT_PROFILE_ROWS ((VT_CHUNK_SIZE - VT_CHUNK_DATA) / sizeof(struct vt_profile_row))

enum vt_kind {
#define VT_KIND_ENUM(name, number, ...) VT_K_##name = number,
    VT_KINDS(VT_KIND_ENUM)
#undef VT_KIND_ENUM
};

#define VT_IO_UNKNOWN 0xffffffffffffffffu /* bytes */

/* The interfaces of I/O; in an archive POSIX I/O, ISO C I/O, MPI-IO, HDF5. */
#define VT_IO_PARADIGMS(X) X(POSIX, 1) X(ISOC, 2) X(MPI, 3) X(HDF5, 4)
enum vt_io_paradigm {
#define VT_IO_PARADIGM_ENUM(name, number) VT_IO_##name = number,
    VT_IO_PARADIGMS(VT_IO_PARADIGM_ENUM)
#undef VT_IO_PARADIGM_ENUM
};

/* Reasons why events were not recorded. */
#define VT_LOST_MOST 8 /* above all of these */
#define VT_LOST_REASONS(X)                                                                                             \
    X(SIGNAL, 1) /* a signal handler came while its thread was recording */                                            \
    X(MEMORY, 2) /* no chunk was free: disk full, file size limit */                                                   \
    X(WRITE, 3) /* the events file could not be written */                                                             \
    X(LIMIT, 4) /* VT_MAX_FLUSHES reached */                                                                           \
    X(THREAD, 5) /* a thread without a location: too many threads, no memory */                                        \
    X(SIZE, 6) /* VT_MAX_SIZE reached */                                                                               \
    X(BUDGET, 7) /* VT_BUDGET reached */
enum vt_lost {
#define VT_LOST_ENUM(name, number) VT_LOST_##name = number,
    VT_LOST_REASONS(VT_LOST_ENUM)
#undef VT_LOST_ENUM
};

/* ---- Definitions: MessagePack arrays [number, ...] one after the other in definition chunks ----
   Ids are per process. A forked child uses its parent's ids, except those that the child defines itself. Definitions of
   one id are equal, except SUMMARY and COMM_NAME: the last one holds. */

/* clang-format off */
/* The kinds of definitions: X(name, number, values).

   The values are a text with name:type for each, which may have =ENUMERATION or &FLAGS. Types: id (of the process),
   u8, u32, u64, int (any of 64 bits), first..last, a number, text, bytes (bin), u32[] and u64[] (bin of numbers),
   list, bool, 'c' (a text of one letter). a|b: one of the two. ?: may be nil. +: later versions added the value, so
   it may be missing. */
#define VT_DEFINITION_KINDS(X)                                                                                         \
    X(PROPERTY, 1, "key:text value:text|list") /* "command" [argv...], "executable", "cores", "pmus" ... */           \
    X(REGION, 2, "id:id name:text paradigm:u8=OTF2_Paradigm role:u8=OTF2_RegionRole file:text? line:u32 "              \
                 "+description:text?")                                                                                 \
    X(MODULE, 3, "slot:u32 start:u64 size:u64 bias:u64 path:text build_id:bytes ticks:u64") /* slot: offset in the */  \
    /* code space; bias: of the load */                                                                                \
    X(MODULE_END, 4, "slot:u32 ticks:u64") /* unloaded */                                                              \
    X(COMM, 5, "id:id kind:u8=vt_comm_kind parent:id? tag:int|text hash:u64 count:u64 size:u32 rank:u32 remote:u32")   \
    /* rank: the own one; remote: size of the remote group or 0 */                                                     \
    X(COMM_MEMBERS, 6, "id:id side:0..1 first:u32 world:u64 ranks:u32[]") /* side: 0 local, 1 remote; ranks in that */ \
    /* world, 0xffffffff: a member of another world; written once for each hash, never for a DUP */                    \
    X(COMM_NAME, 7, "id:id name:text")                                                                                 \
    X(LOCATION, 8, "number:u32 thread:u32 name:text? ticks:u64") /* thread: kernel id; ticks of its first event */     \
    X(METRIC, 9, "id:id name:text unit:text type:'u'|'i'|'f' mode:'a'|'p'|'n' per_process:bool")                       \
    /* mode: accumulated, point, holds until the next */                                                               \
    X(CLOCK, 10, "ticks:u64 mono:u64 real:u64") /* CLOCK_MONOTONIC_RAW and CLOCK_REALTIME, ns */                       \
    X(SUMMARY, 11, "location:u32 records:u64 lost:u64 flushes:u64 flush_ticks:u64 off_ticks:u64 clamped:u64 last:u64 " \
                   "stopped:0..7=vt_lost +usage:u64[]?") /* last: ticks of the last record; stopped: why recording */ \
    /* stopped before the end, 0: it did not; usage: struct vt_usage of its threads, or only its CPU times */            \
    X(ATTRIBUTE, 12, "id:id name:text description:text type:0..25=OTF2_Type")                                          \
    X(IO_FILE, 13, "id:id path:text") /* absolute; a file of this host, or a socket's or pipe's name */                \
    X(IO_HANDLE, 14, "id:id name:text? file:id? paradigm:1..4=vt_io_paradigm flags:0..3&OTF2_IoHandleFlag comm:id? "    \
                     "parent:id? access:0..4?=OTF2_IoAccessMode status:0..511?&OTF2_IoStatusFlag") /* the last two: */ \
    /* of a handle that was open before recording began (flag PRE_CREATED) */                                          \
    X(RMA_WIN, 15, "id:id comm:id count:u32") /* count: number of earlier windows of that communicator */              \
    X(RMA_WIN_NAME, 16, "id:id name:text")                                                                             \
    X(GROUP, 17, "id:id comm:id first:u32 ranks:u32[]") /* ranks in that communicator: for RMA_GROUP_SYNC */           \
    X(REGION_AT, 18, "id:id name:text paradigm:u8=OTF2_Paradigm role:u8=OTF2_RegionRole address:u64") /* where the */  \
    /* region begins in the code; a name of an OpenMP construct gets the file and line there */                        \
    X(TEAM, 19, "id:id location:u32 thread:u32 creator:u32 joined:u64") /* location and thread number of a member, */  \
    /* location that forks the team; joined: as in THREAD_TEAM_BEGIN, at the program's end; 0 before */                \
    X(LOST, 20, "location:u32 reason:1..7=vt_lost events:u64") /* since its last LOST record for this reason; the */   \
    /* newest one of a location and reason holds */                                                                    \
    X(CALL_SITE, 21, "id:id addresses:u64[]") /* id of a text: the places of these calls in the source, */             \
    /* innermost first; a call of a Python function as the frame of a sample */                                        \
    X(CLOCK_OFFSET, 22, "ticks:u64 peer:u32 peer_ticks:u64 error:u64") /* peer: rank in the process's world; its */    \
    /* ticks at the same moment; error: ticks here by which the moments may differ. Measured when all ranks */         \
    /* synchronize their clocks */                                                                                     \
    X(TEXT, 23, "id:id text:text") /* of MARKER and COMMENT records, and of attributes of the type STRING */           \
    X(MARKER, 24, "id:id name:text severity:1..3=vt_marker")                                                           \
    X(NOTE, 25, "text:text") /* a comment on the whole run */                                                          \
    X(USER_COMM, 26, "id:id name:text") /* of USER_SEND and USER_RECV; equal names are the same communicator */        \
    X(MEMBER, 27, "of:2|9=vt_definition id:id group:text") /* a region or metric of the user's group */                \
    X(SAMPLING, 28, "clock:1..3=vt_sample_clock period:u64 tick:u64 signal:u8 event:text? +sidecar:u8?")               \
    /* of the process; mean period and the kernel's tick in ns: a thread's CPU time reaches a timer at ticks only. */  \
    /* PERF: events in a period, and the event's name. sidecar: VT_SAMPLE_SIDECAR */                                   \
    X(SAMPLES, 29, "location:u32 samples:u64 weight:u64 overruns:u64 lost:u64 overwritten:u64 ends:u64[]") /* sums */  \
    /* at the end; overwritten: by the flight recorder; ends: samples by enum vt_sample_end */                          \
    X(PYTHON_CODE, 30, "id:id name:text file:text line:u32 lines:bytes") /* code object: qualified name, first line, */ \
    /* and CPython's table of lines (co_linetable; empty: too large) */                                                \
    X(COMM_GRID, 31, "id:id lengths:u32[] periodic:u64") /* of MPI_Cart_create, written by its rank 0; bit n: */       \
    /* dimension n is periodic */                                                                                      \
    X(COMM_PEER, 32, "id:id peer:id leader:u32") /* of MPI_Intercomm_create, written by the leader of each side: */    \
    /* peer communicator, and rank of the other leader in it */                                                        \
    X(METRIC_GROUP, 33, "id:id names:list units:list descriptions:list modes:text at_calls:bool") /* of at most 7 */   \
    /* counters with unsigned values; modes: a letter each, as in METRIC; at_calls: read at enters and leaves, */      \
    /* else by time */                                                                                                 \
    X(DATA_SITE, 34, "id:id code:u64 address:u64") /* id of a text: the variable at an address; code: of its module */ \
    X(CALL_TIME, 35, "location:u32 region:id site:id? calls:u64 ticks:u64") /* long calls of a region from a place (a */ \
    /* text; nil: from others) until now; the last one of location, region and site holds */                           \
    X(DEVICE_WIN, 36, "id:id name:text paradigm:u8=OTF2_Paradigm") /* a window as of RMA_WIN, of all locations of the */ \
    /* process, for copies of devices: a peer in its records is the number of a location */
/* clang-format on */
enum vt_definition {
#define VT_DEFINITION_ENUM(name, number, values) VT_D_##name = number,
    VT_DEFINITION_KINDS(VT_DEFINITION_ENUM)
#undef VT_DEFINITION_ENUM
};

/* Severity of a marker, with the numbers of VampirTrace's user API. */
#define VT_MARKERS(X) X(ERROR, 1) X(WARNING, 2) X(HINT, 3)
enum vt_marker {
#define VT_MARKER_ENUM(name, number) VT_MARKER_##name = number,
    VT_MARKERS(VT_MARKER_ENUM)
#undef VT_MARKER_ENUM
};

/* The origin of a communicator. Definitions of two processes mean the same communicator if kind, parent, tag, hash of
   the members and count agree. count: for kinds that are collective over the parent, the number of earlier such calls
   on the parent; else the number of earlier communicators of equal (kind, parent, tag, hash). If members belong to
   several worlds, no process knows all members, and hash covers their ranks in the parent. INTER_CREATE: parent is the
   local communicator, which differs on each side; the COMM_PEER definitions of the two leaders join the sides. Without
   these definitions the parent is ignored. SPAWN: tag identifies the call, and the children know the tag. CONNECT: tag
   identifies the port; between worlds, count is the time of the call (CLOCK_REALTIME ns), and the sides with equal tags
   belong together in the order of these times. PARTITIONED: stands for its parent in the records of partitioned
   messages, which never match other messages of the same peer and tag. */
/* clang-format off */
#define VT_COMM_KINDS(X)                                                                                               \
    X(WORLD, 1) X(SELF, 2) X(DUP, 3) X(SPLIT, 4) X(CREATE, 5) X(CREATE_GROUP, 6) X(CART, 7) X(CART_SUB, 8) X(GRAPH, 9) \
    X(INTER_CREATE, 10) X(INTER_MERGE, 11) X(OTHER, 12) X(FROM_GROUP, 13) X(SPAWN, 14) X(CONNECT, 15) X(PARTITIONED, 16)
/* clang-format on */
enum vt_comm_kind {
#define VT_COMM_ENUM(name, number) VT_COMM_##name = number,
    VT_COMM_KINDS(VT_COMM_ENUM)
#undef VT_COMM_ENUM
};

/* ---- Clock ---- */
#define VT_CLOCKS(X) X(TSC, 1) X(CNTVCT, 2) X(NANOSECONDS, 3) /* ns of CLOCK_MONOTONIC_RAW */
enum vt_clock_kind {
#define VT_CLOCK_ENUM(name, number) VT_CLOCK_##name = number,
    VT_CLOCKS(VT_CLOCK_ENUM)
#undef VT_CLOCK_ENUM
};

struct vt_clock_pair { /* the same moment on three clocks; ns except ticks */
    uint64_t ticks, mono, real;
};

/* ---- Head of every def, events and buffer file: the process that wrote the file ---- */
#define VT_CONTENTS(X) X(EVENTS, 1) X(DEFINITIONS, 2) X(BUFFER, 3)
enum vt_content {
#define VT_CONTENT_ENUM(name, number) VT_##name = number,
    VT_CONTENTS(VT_CONTENT_ENUM)
#undef VT_CONTENT_ENUM
};

#define VT_INHERITS 1u /* the parent's definitions also hold for this process */
#define VT_IN_MEMORY 2u /* further chunks are in memory, and end with the process */
#define VT_UNBUFFERED 4u /* the process had recorded no event yet, and had no buffer file */
#define VT_COUNTS 8u /* VT_MODE=PROFILE: the process writes profiles in place of events */
struct vt_file {
    char magic[8];
    uint16_t version;
    uint8_t content; /* enum vt_content */
    uint8_t clock; /* enum vt_clock_kind */
    uint32_t head_bytes; /* VT_FILE_HEAD */
    uint64_t checksum; /* vt_checksum over this head with 0 here; 0 in a buffer file: not checked */
    uint8_t run[16]; /* the same for all processes of a run */
    uint64_t world; /* the same for all processes of an MPI_COMM_WORLD, 0 without one */
    uint32_t rank, world_size; /* VT_NO_RANK, 0 for a process without a rank */
    uint32_t location, pid; /* location: of the events or definitions; 0 in a buffer file */
    uint64_t start; /* CLOCK_REALTIME ns of the process's first event; with host and pid: the process */
    uint32_t parent_pid, forked; /* forked: VT_INHERITS, VT_UNBUFFERED, VT_COUNTS, in a buffer VT_IN_MEMORY */
    uint64_t parent_start; /* 0: no traced parent */
    uint64_t ticks_per_second; /* nominal, 0 unknown; the unifier uses the clock pairs */
    struct vt_clock_pair pair; /* clock readings at the start */
    char tool[32]; /* "vtrace 0.1.0" */
    char host[64];
    char prefix[256]; /* prefix of the file names, without directory */
    char directory[512]; /* VT_PFORM_GDIR, absolute */
    char buffer[760]; /* path of the buffer file, empty without one */
    uint64_t pid_space; /* boot and PID namespace in which the pid is valid; VT_NO_PID_SPACE, or 0 in older files */
};

/* ---- Chunk: 64 KiB of the buffer file, at a multiple of 64 KiB; chunk 0 holds struct vt_file and, at VT_LAST_CHUNK,
   a chunk with definitions of the end of the process that fit nowhere else ---- */
/* TAKING: gets the records that a chunk of its location and sequence keeps, while that one is thinned (VT_BUDGET). The
   records of the two are the first `kept` words of this chunk, and those of the other one from word `counted` on. */
#define VT_CHUNK_STATES(X) X(FREE, 0) X(FILLING, 1) X(FULL, 2) X(TAKING, 3)
enum vt_chunk_state {
#define VT_CHUNK_STATE_ENUM(name, number) VT_CHUNK_##name = number,
    VT_CHUNK_STATES(VT_CHUNK_STATE_ENUM)
#undef VT_CHUNK_STATE_ENUM
};

/* open[i]: low 32 bits = what of the enter; or bit 63 set and the address of a function without a slot */
#define VT_OPEN_ADDRESS 0x8000000000000000u

struct vt_chunk {
    uint32_t location, sequence; /* sequence counts per location and content */
    uint32_t thread; /* kernel id of the thread that began the chunk */
    uint32_t records; /* number, in a full chunk; always for definitions */
    uint64_t ticks; /* absolute time of the record before the first one */
    struct vt_clock_pair pair; /* newest known when the chunk was taken */
    uint64_t lost; /* events that the location had lost before */
    uint64_t dropped; /* records of earlier chunks that a flight recorder has overwritten; 0: none */
    uint32_t depth, nopen; /* open regions at the chunk's start: number of all, number in open[] */
    uint16_t head; /* end of the published records in the chunk; 0 = 65536; stored after each record */
    uint8_t state, content;
    uint32_t classes; /* in a full chunk */
    uint64_t end_ticks; /* in a full chunk: time of its last record */
    uint32_t next, used; /* list link, bytes of records; meaningless in a file */
    uint64_t open[VT_OPEN_MAX]; /* outermost first */
    /* Words of the records that the profile (VT_MODE=PROFILE) or the thinning has handled already; words that the chunk
       TAKING keeps of them */
    uint32_t counted, kept;
};

/* ---- Block: one chunk in a def or events file ---- */
#define VT_CODECS(X)                                                                                                   \
    X(RAW, 0) /* as in the chunk */                                                                                    \
    X(ZSTD, 1) /* zstd frame of the bytes (definitions) */                                                             \
    X(ZSTD_COLUMNS, 2) /* zstd frame of struct vt_columns and the columns after it */                                  \
    X(VARINT, 3) /* each word: LEB128 of its upper half, then of its lower half rotated left by 2 */
enum vt_codec {
#define VT_CODEC_ENUM(name, number) VT_##name = number,
    VT_CODECS(VT_CODEC_ENUM)
#undef VT_CODEC_ENUM
};

struct vt_block {
    char magic[4];
    uint16_t version;
    uint8_t codec, content;
    uint32_t raw_bytes, stored_bytes; /* stored bytes follow this head */
    uint64_t checksum; /* vt_checksum over head (with 0 here) and stored bytes */
    uint32_t location, sequence, thread, records;
    uint32_t classes, depth;
    uint32_t nopen, unused;
    uint64_t ticks, end_ticks, lost, dropped;
    struct vt_clock_pair pair;
    uint64_t open[VT_OPEN_MAX];
};

/* ---- Columns: the records of a block, sorted by their lower halves --------------------------
   After the head, each as byte planes (all lowest bytes, then all second bytes, ...):
     whats     the distinct lower halves of the records' first words (what happened), and above each in 16 bits the
               number of records with this lower half

     index     for each record in order the number of its what; 1 byte, 2 with more than 256 whats
     times     for each record its ticks; or, with a step, n << 8 | r for n * step / 65536 (rounded down) + r -
               VT_STEP_ZERO ticks

     payload   of the first what all first words, then all second words, ..., then those of the second what; each as
               the difference d to the previous word (the first to 0): 2 * d, or -2 * d - 1 if d is negative */
struct vt_columns {
    uint16_t records, whats;
    uint32_t step; /* 65536 times the ticks between two values of the clock; 0: times are ticks */
    uint8_t time_bytes, payload_bytes; /* stored bytes of each value; higher bytes are 0 */
    uint16_t unused;
};

#define VT_STEP_ZERO 128
#define VT_WHAT_BYTES 6
#define VT_COLUMNS_MOST (sizeof(struct vt_columns) + (VT_WHAT_BYTES + 2 + 5) * VT_CHUNK_WORDS) /* all times in steps */

_Static_assert(sizeof(struct vt_chunk) <= VT_CHUNK_DATA, "chunk head too large");
_Static_assert(sizeof(struct vt_file) <= VT_FILE_HEAD, "file head too large");

/* Checksum of len bytes, continued from seed: multiply and fold per 8-byte word, the last one padded with zeros. */
static inline uint64_t vt_checksum(uint64_t seed, const void *data, uint64_t len)
{
    const unsigned char *p = (const unsigned char *)data;
    uint64_t h = seed ^ 0x9e3779b97f4a7c15u, w;
    for (; len >= 8; p += 8, len -= 8) {
        memcpy(&w, p, 8);
        h = (h ^ w) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    if (len) {
        w = 0;
        memcpy(&w, p, len);
        h = (h ^ w ^ len << 56) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h;
}

#endif
