/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of everything that vtrace writes: the only thing the runtime and the unifier share.
   Its Python twin is src/vtrace/io/local/records.py; docs/file-format.md explains it with pictures.
   All numbers are little endian. Sizes are bytes unless a name says words (8 bytes). */
#ifndef VT_FORMAT_H
#define VT_FORMAT_H

#include <stdint.h>
#include <string.h>

#define VT_FORMAT_VERSION 3
#define VT_FILE_MAGIC "VTRACE\r\n" /* a transfer in text mode breaks it visibly */
#define VT_BLOCK_MAGIC "VTB1"

#define VT_CHUNK_SIZE 65536u
#define VT_CHUNK_DATA 512u /* where the records of a chunk begin */
#define VT_CHUNK_WORDS ((VT_CHUNK_SIZE - VT_CHUNK_DATA) / 8)
#define VT_OPEN_MAX 32     /* open regions that a chunk names; deeper ones follow from later leaves */
#define VT_FILE_HEAD 2048u /* size of struct vt_file in a file */
#define VT_LAST_CHUNK 4096u /* where in chunk 0 of a buffer a shorter chunk of definitions begins */
#define VT_NO_RANK 0xffffffffu

/* ---- Records: words of 8 bytes -------------------------------------------------------------
   bits 63..32  clock ticks since the location's previous record
   bits 31..0   what happened:
     function:  bit 31 = 1, bit 30 = leave, bits 29..0 = offset in the process's code space
     else:      bit 31 = 0, bits 30..24 = kind, bits 23..21 = payload words, bits 20..0 = id
   Payload words follow as they are. A record never crosses the end of its chunk. */
#define VT_FUNCTION 0x80000000u
#define VT_FUNCTION_LEAVE 0x40000000u
#define VT_CODE_MASK 0x3fffffffu
#define VT_ID_MAX 0x1fffffu
#define VT_WHAT(kind, words, id) ((uint32_t)(kind) << 24 | (uint32_t)(words) << 21 | (uint32_t)(id))
#define VT_KIND(what) ((what) >> 24 & 0x7f)
#define VT_WORDS(what) ((what) & VT_FUNCTION ? 0u : (what) >> 21 & 7)
#define VT_ID(what) ((what) & VT_ID_MAX)

/* Classes of records in a block: the unifier skips blocks that hold nothing of what it looks for. */
#define VT_CLASS_FUNCTION 0x1u   /* function events */
#define VT_CLASS_NEW_CODE 0x2u   /* may hold functions or addresses that earlier blocks of the location do not */
#define VT_CLASS_REGION 0x4u     /* enter and leave of named regions */
#define VT_CLASS_MESSAGE 0x8u    /* point-to-point communication */
#define VT_CLASS_COLLECTIVE 0x10u /* collectives, communicators */
#define VT_CLASS_THREAD 0x20u    /* reuse of the location, threads that begin and end, locks */
#define VT_CLASS_IO 0x40u
#define VT_CLASS_MEMORY 0x80u
#define VT_CLASS_METRIC 0x100u
#define VT_CLASS_CONTROL 0x200u  /* lost, on, off, flush, limit, time */
#define VT_CLASS_RMA 0x400u      /* one-sided communication */
#define VT_CLASS_ATTRIBUTE 0x800u
#define VT_CLASS_USER 0x1000u    /* markers, comments and messages of the user API */
#define VT_CLASS_TEAM 0x2000u    /* teams of threads, their tasks */
#define VT_CLASS_ADDRESS (VT_CLASS_FUNCTION | VT_CLASS_NEW_CODE)
#define VT_CLASS_HEAP (VT_CLASS_REGION | VT_CLASS_MEMORY)
#define VT_CLASS_ALL 0xffffffffu
/* What VT_MAX_SIZE stops first, in a LIMIT record: functions, calls of I/O and of memory, the user API; each with its
   regions. MPI, threads and processes go on. */
#define VT_CLASS_FIRST                                                                                                 \
    (VT_CLASS_FUNCTION | VT_CLASS_NEW_CODE | VT_CLASS_IO | VT_CLASS_MEMORY | VT_CLASS_METRIC | VT_CLASS_USER)

/* X(name, number, payload words, class). Payload in comments: w0, w1, ...; peer = rank in the communicator
   (of the remote group for an inter-communicator), PEER_TAG = peer | tag << 32, OP_ROOT = op | root << 32
   with OTF2's numbers of collective operations, root 0xffffffff where there is none. op may have
   VT_FROM_ALL: the process gets something from every other member. */
#define VT_FROM_ALL 0x100u
#define VT_KINDS(X)                                                                                                    \
    X(TIME, 1, 1, CONTROL)              /* w0 ticks since the previous record, more than 32 bits hold */               \
    X(ENTER, 2, 0, REGION)              /* id region */                                                                \
    X(LEAVE, 3, 0, REGION)              /* id region */                                                                \
    X(ENTER_ADDRESS, 4, 1, ADDRESS)     /* w0 address of a function that has no place in the code space */             \
    X(LEAVE_ADDRESS, 5, 1, ADDRESS)     /* w0 address */                                                               \
    X(LOST, 6, 1, CONTROL)              /* id reason (VT_LOST_*), w0 events lost since the location's last LOST */     \
    X(OFF, 7, 0, CONTROL)               /* recording was switched off */                                               \
    X(ON, 8, 0, CONTROL)                /* recording was switched on */                                                \
    X(FLUSH, 9, 1, CONTROL)             /* a flush begins at the record's time, w0 its ticks */                        \
    X(LIMIT, 10, 1, CONTROL)            /* id reason (VT_LOST_*), w0 VT_CLASS_* bits: from here on the location */     \
    /* records nothing of these classes; VT_CLASS_ALL: nothing more */                                                 \
    X(THREAD, 11, 1, THREAD)            /* the location goes over to thread w0 (kernel id); open regions end */        \
    X(SEND, 16, 2, MESSAGE)             /* id comm, w0 PEER_TAG, w1 bytes; before the call */                          \
    X(RECV, 17, 2, MESSAGE)             /* id comm, w0 PEER_TAG, w1 bytes; after the call */                           \
    X(ISEND, 18, 3, MESSAGE)            /* id comm, w0 PEER_TAG, w1 bytes, w2 request */                               \
    X(ISEND_COMPLETE, 19, 1, MESSAGE)   /* w0 request */                                                               \
    X(IRECV_REQUEST, 20, 1, MESSAGE)    /* w0 request */                                                               \
    X(IRECV, 21, 3, MESSAGE)            /* id comm, w0 PEER_TAG, w1 bytes, w2 request */                               \
    X(REQUEST_TEST, 22, 1, MESSAGE)     /* w0 request: tested, not complete */                                         \
    X(REQUEST_CANCELLED, 23, 1, MESSAGE) /* w0 request */                                                              \
    X(COLL_BEGIN, 24, 0, COLLECTIVE)                                                                                   \
    X(COLL_END, 25, 3, COLLECTIVE)      /* id comm, w0 OP_ROOT, w1 bytes sent, w2 bytes received */                    \
    X(COLL_REQUEST, 26, 1, COLLECTIVE)  /* w0 request of a non-blocking collective */                                  \
    X(COLL_COMPLETE, 27, 4, COLLECTIVE) /* id comm, w0 OP_ROOT, w1 sent, w2 received, w3 request */                    \
    X(COMM_CREATE, 28, 0, COLLECTIVE)   /* id comm */                                                                  \
    X(COMM_DESTROY, 29, 0, COLLECTIVE)  /* id comm */                                                                  \
    X(METRIC, 40, 1, METRIC)            /* id metric, w0 value in the type of its definition */                        \
    X(ATTRIBUTE, 41, 1, ATTRIBUTE)      /* id attribute, w0 value in the type of its definition; of the next event */  \
    X(RMA_WIN_CREATE, 48, 0, RMA)       /* id window */                                                                \
    X(RMA_WIN_DESTROY, 49, 0, RMA)      /* id window */                                                                \
    X(RMA_COLL_BEGIN, 50, 0, RMA)                                                                                      \
    X(RMA_COLL_END, 51, 4, RMA)         /* id window, w0 OP_ROOT, w1 OTF2_RmaSyncLevel, w2 bytes sent, w3 received */  \
    X(RMA_GROUP_SYNC, 52, 2, RMA)       /* id window, w0 OTF2_RmaSyncLevel, w1 group */                                \
    X(RMA_REQUEST_LOCK, 53, 2, RMA) /* id window, w0 peer | OTF2_LockType << 32, w1 lock id; peer in the window's */   \
    X(RMA_ACQUIRE_LOCK, 54, 2, RMA) /* the same          communicator, 0xffffffff: all */                              \
    X(RMA_TRY_LOCK, 55, 2, RMA) /* the same */                                                                         \
    X(RMA_RELEASE_LOCK, 56, 2, RMA) /* id window, w0 peer, w1 lock id */                                               \
    X(RMA_SYNC, 57, 1, RMA) /* id window, w0 peer | OTF2_RmaSyncType << 32 */                                          \
    X(RMA_PUT, 59, 3, RMA) /* id window, w0 peer, w1 bytes, w2 matching id */                                          \
    X(RMA_GET, 60, 3, RMA) /* the same */                                                                              \
    X(RMA_ATOMIC, 61, 4, RMA) /* id window, w0 peer | OTF2_RmaAtomicType << 32, w1 sent, w2 received, */               \
    /* w3 matching id */                                                                                               \
    X(RMA_COMPLETE_BLOCKING, 62, 1, RMA) /* id window, w0 matching id */                                               \
    X(RMA_COMPLETE_NON_BLOCKING, 63, 1, RMA) /* the same */                                                            \
    X(RMA_TEST, 64, 1, RMA) /* the same */                                                                             \
    X(RMA_COMPLETE_REMOTE, 65, 1, RMA) /* the same */                                                                  \
    X(IO_CREATE, 72, 2, IO) /* id handle, w0 OTF2_IoAccessMode | OTF2_IoCreationFlag << 32, w1 status flags */         \
    X(IO_DESTROY, 73, 0, IO) /* id handle */                                                                           \
    X(IO_DUPLICATE, 74, 1, IO) /* id old handle, w0 new handle | status flags << 32 */                                 \
    X(IO_SEEK, 75, 3, IO) /* id handle, w0 offset asked for, w1 OTF2_IoSeekOption, w2 offset reached */                \
    X(IO_STATUS, 76, 1, IO) /* id handle, w0 new status flags */                                                       \
    X(IO_DELETE, 77, 1, IO) /* id file, w0 enum vt_io_paradigm */                                                      \
    X(IO_BEGIN, 78, 3, IO) /* id handle, w0 OTF2_IoOperationMode | OTF2_IoOperationFlag << 32, */                      \
    /* w1 bytes asked for or VT_IO_UNKNOWN, w2 matching id */                                                          \
    X(IO_ISSUED, 79, 1, IO) /* id handle, w0 matching id */                                                            \
    X(IO_TEST, 80, 1, IO) /* the same */                                                                               \
    X(IO_COMPLETE, 81, 2, IO) /* id handle, w0 bytes done or VT_IO_UNKNOWN, w1 matching id */                          \
    X(IO_CANCELLED, 82, 1, IO) /* id handle, w0 matching id */                                                         \
    X(IO_ACQUIRE_LOCK, 83, 1, IO) /* id handle, w0 OTF2_LockType */                                                    \
    X(IO_RELEASE_LOCK, 84, 1, IO) /* the same */                                                                       \
    X(IO_TRY_LOCK, 85, 1, IO) /* the same */                                                                           \
    X(IO_DONE, 86, 1, IO) /* id handle, w0 bytes done or VT_IO_UNKNOWN: ends the region's IO_READ, ... */              \
    X(ENTER_ALLOC, 88, 1, HEAP) /* id region, w0 bytes asked for */                                                    \
    X(LEAVE_ALLOC, 89, 3, HEAP) /* id region, w0 address or 0, w1 bytes and w2 blocks in use: this thread's */         \
    /* sums of what it allocated less what it freed, signed */                                                         \
    X(ENTER_FREE, 90, 4, HEAP) /* id region, w0 address, w1 bytes freed, w2 and w3 the sums without them */            \
    X(ENTER_REALLOC, 91, 3, HEAP) /* id region, w0 old address or 0, w1 its bytes, w2 bytes asked for; the leave */    \
    /* is LEAVE_ALLOC */                                                                                               \
    X(HEAP, 92, 2, MEMORY) /* w0 and w1 the sums, changed by calls that are not recorded */                            \
    X(IO_READ, 93, 1, IO) /* id handle, w0 bytes asked for or VT_IO_UNKNOWN: the one blocking operation of the */      \
    /* innermost region. Their order is that of OTF2_IoOperationMode. */                                               \
    X(IO_WRITE, 94, 1, IO) /* the same */                                                                              \
    X(IO_FLUSH, 95, 1, IO) /* the same */                                                                              \
    X(THREAD_FORK, 96, 1, TEAM) /* id region of the construct, entered; w0 threads asked for | nesting << 32: */       \
    /* number of teams around the thread, the new one included */                                                      \
    X(THREAD_JOIN, 97, 1, TEAM) /* id the region, left; w0 nesting */                                                  \
    X(THREAD_TEAM_BEGIN, 98, 2, TEAM) /* id team; w0 region that is entered or 0 | nesting << 32, w1 ticks at */       \
    /* which the team was joined for whose end the thread waited last; 0 unknown: it waited until now */               \
    X(THREAD_TEAM_END, 99, 1, TEAM) /* id region of the wait for the others, entered; w0 nesting; it lasts until */    \
    /* THREAD_JOIN, the next THREAD_TEAM_BEGIN or THREAD_TEAM_JOINED */                                                \
    X(THREAD_TASK_CREATE, 100, 2, TEAM) /* w0 its number there, from 1 | creating location << 32, w1 team */           \
    X(THREAD_TASK_BEGIN, 101, 2, TEAM) /* id region of the task, entered; w0 task, w1 team */                          \
    X(THREAD_TASK_END, 102, 3, TEAM) /* id the region, left; w0 task, w1 team | 1 << 32 if it will go on later, */     \
    /* w2 task that the thread goes on with, 0: its implicit one */                                                    \
    X(THREAD_TEAM_JOINED, 103, 1, TEAM) /* w0 ticks, as w1 of THREAD_TEAM_BEGIN; the thread ends */                    \
    X(THREAD_CREATE, 104, 1, THREAD) /* w0 number of the thread that was created, from 1, unique in the process */     \
    X(THREAD_BEGIN, 105, 1, THREAD) /* w0 the same, on the new thread's location */                                    \
    X(THREAD_END, 106, 1, THREAD) /* the same */                                                                       \
    X(THREAD_WAIT, 107, 1, THREAD) /* w0 the same: the thread has ended, and this one has waited for it */             \
    X(ACQUIRE_LOCK, 108, 1, THREAD) /* id OTF2_Paradigm, w0 lock | order << 32: how often it was acquired before */    \
    X(RELEASE_LOCK, 109, 1, THREAD) /* the same, order as when it was acquired */                                      \
    X(REWIND_MARK, 116, 0, CONTROL) /* a rewind may come back to here */                                               \
    X(REWOUND, 117, 1, CONTROL) /* w0 ticks from here on whose records were discarded */                               \
    X(MARKER, 118, 1, USER) /* id marker, w0 text */                                                                   \
    X(COMMENT, 119, 1, USER) /* w0 text */                                                                             \
    X(USER_SEND, 120, 2, USER) /* id user communicator, w0 tag, w1 bytes */                                            \
    X(USER_RECV, 121, 2, USER) /* the same */

enum vt_kind {
#define VT_KIND_ENUM(name, number, words, class) VT_K_##name = number,
    VT_KINDS(VT_KIND_ENUM)
#undef VT_KIND_ENUM
};

#define VT_IO_UNKNOWN 0xffffffffffffffffu /* bytes */

/* Who offers a kind of I/O; in an archive POSIX I/O, ISO C I/O, MPI-IO. */
enum vt_io_paradigm { VT_IO_POSIX = 1, VT_IO_ISOC = 2, VT_IO_MPI = 3 };

/* Why events were not recorded. */
#define VT_LOST_MOST 8 /* above all of these */
enum vt_lost {
    VT_LOST_SIGNAL = 1, /* a signal handler came while its thread was recording */
    VT_LOST_MEMORY = 2, /* no chunk could be had: disk full, file size limit */
    VT_LOST_WRITE = 3, /* the events file could not be written */
    VT_LOST_LIMIT = 4, /* VT_MAX_FLUSHES reached */
    VT_LOST_THREAD = 5, /* a thread without a location: too many threads, no memory */
    VT_LOST_SIZE = 6, /* VT_MAX_SIZE reached */
};

/* ---- Definitions: MessagePack arrays [number, ...] one after the other in definition chunks ----
   Ids are per process. A forked child's ids that it does not define itself are its parent's.
   An id defined twice is equal by content; of SUMMARY and COMM_NAME the last one holds. */
enum vt_definition {
    VT_D_PROPERTY = 1, /* key, value: "command" [argv...], "executable", "directory", "setting.VT_X", "helper.N" ... */
    VT_D_REGION = 2, /* id, name, OTF2 paradigm, OTF2 region role, file or nil, line or 0, and perhaps a description */
    VT_D_MODULE = 3, /* slot (offset in the code space), start address, size, load bias, path, build id (bin), ticks */
    VT_D_MODULE_END = 4, /* slot, ticks: unloaded */
    VT_D_COMM = 5, /* id, kind (VT_COMM_*), parent id or nil, tag (int or str), hash, count, size, own rank,
                              size of the remote group or 0 */
    VT_D_COMM_MEMBERS = 6, /* id, side (0 local, 1 remote), first index, world id, ranks in that world (bin of u32), or
                              0xffffffff for a member of another world; of equal hashes only once, of a DUP never */
    VT_D_COMM_NAME = 7, /* id, name */
    VT_D_LOCATION = 8, /* number, kernel thread id, name or nil, ticks of its first event */
    VT_D_METRIC = 9, /* id, name, unit, type ('u' 'i' 'f'), mode ('a' accumulated, 'p' point, 'n' holds until the next),
                      per process (bool) */
    VT_D_CLOCK = 10, /* ticks, CLOCK_MONOTONIC_RAW ns, CLOCK_REALTIME ns */
    VT_D_SUMMARY = 11, /* location, records, lost, flushes, ticks flushing, ticks off, times clamped, ticks of the last
                              record, enum vt_lost: why it recorded nothing more before it ended; 0: it recorded */
    VT_D_ATTRIBUTE = 12, /* id, name, description, OTF2_Type */
    VT_D_IO_FILE = 13, /* id, absolute path; a file of this host, or a socket's or pipe's name */
    VT_D_IO_HANDLE = 14, /* id, name, file id or nil, enum vt_io_paradigm, OTF2_IoHandleFlag bits, comm id or nil,
                              parent handle id or nil, access mode or nil, status flags or nil: the last two of a handle
                              that was open before recording began (flag PRE_CREATED) */
    VT_D_RMA_WIN = 15, /* id, comm id, count: number of earlier windows of that communicator */
    VT_D_RMA_WIN_NAME = 16, /* id, name */
    VT_D_GROUP = 17, /* id, comm id, first index, ranks in that communicator (bin of u32): for RMA_GROUP_SYNC */
    VT_D_REGION_AT = 18, /* id, name, OTF2 paradigm, OTF2 region role, address in the code: where the region begins. A
                            name of an OpenMP construct gets the file and line there */
    VT_D_TEAM = 19, /* id, location of a member, its thread number, location that forks the team, ticks at which the
                       team was joined for whose end the member waited last: at the end of the program, before 0 */
    VT_D_LOST = 20, /* location, enum vt_lost, events lost for this reason since its last LOST record; the newest one of
                              a location and reason holds */
    VT_D_CALL_SITE = 21, /* id of a text, addresses of calls (bin of u64), innermost first: the text says where in the
                            source they are */
    VT_D_CLOCK_OFFSET = 22, /* ticks here, rank in the process's world, its ticks at the same moment, ticks here by
                               which the moments may differ: measured when all ranks synchronize their clocks */
    VT_D_TEXT = 23, /* id, text: of MARKER and COMMENT records, and of attributes of the type STRING */
    VT_D_MARKER = 24, /* id, name, enum vt_marker */
    VT_D_NOTE = 25, /* text: a comment on the whole run */
    VT_D_USER_COMM = 26, /* id, name: of USER_SEND and USER_RECV; equal names are the same communicator */
    VT_D_MEMBER = 27, /* VT_D_REGION or VT_D_METRIC, id of one, name of the user's group that it belongs to */
};

/* Severity of a marker, with the numbers of VampirTrace's user API. */
enum vt_marker { VT_MARKER_ERROR = 1, VT_MARKER_WARNING = 2, VT_MARKER_HINT = 3 };

/* How a communicator came to be. Two processes speak of the same one when kind, parent, tag, hash of the members
   and count agree. count: for kinds that are collective over the parent the number of such calls on it before,
   else the number of earlier communicators of equal (kind, parent, tag, hash). Where members belong to several worlds
   nobody knows all of them, and hash is of their ranks in the parent. SPAWN: tag names the call, which the children
   know. CONNECT: tag is of the port; between worlds count is the time at which it was made (CLOCK_REALTIME ns), and the
   two sides, with equal tags, belong together in the order of these times. PARTITIONED: stands for its parent in the
   records of partitioned messages, which never match others of the same peer and tag. */
enum vt_comm_kind {
    /* clang-format off */
    VT_COMM_WORLD = 1, VT_COMM_SELF = 2, VT_COMM_DUP = 3, VT_COMM_SPLIT = 4, VT_COMM_CREATE = 5,
    VT_COMM_CREATE_GROUP = 6, VT_COMM_CART = 7, VT_COMM_CART_SUB = 8, VT_COMM_GRAPH = 9,
    VT_COMM_INTER_CREATE = 10, VT_COMM_INTER_MERGE = 11, VT_COMM_OTHER = 12,
    VT_COMM_FROM_GROUP = 13, VT_COMM_SPAWN = 14, VT_COMM_CONNECT = 15,
    VT_COMM_PARTITIONED = 16,
    /* clang-format on */
};

/* ---- Clock ---- */
enum vt_clock_kind { VT_CLOCK_TSC = 1, VT_CLOCK_CNTVCT = 2, VT_CLOCK_NANOSECONDS = 3 /* CLOCK_MONOTONIC_RAW */ };

struct vt_clock_pair { /* the same moment on three clocks; ns except ticks */
    uint64_t ticks, mono, real;
};

/* ---- Head of every def, events and buffer file: who wrote it ---- */
enum vt_content { VT_EVENTS = 1, VT_DEFINITIONS = 2, VT_BUFFER = 3 };

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
    uint32_t location, pid; /* location: whose events or definitions; 0 in a buffer file */
    uint64_t start; /* CLOCK_REALTIME ns of the process's first event; with host and pid: the process */
    uint32_t parent_pid, forked; /* forked: 1 where the parent's definitions hold for this process too */
    uint64_t parent_start; /* 0: no traced parent */
    uint64_t ticks_per_second; /* nominal, 0 unknown; the clock pairs are what counts */
    struct vt_clock_pair pair; /* at the start */
    char tool[32]; /* "vtrace 0.1.0" */
    char host[64];
    char prefix[256]; /* of the file names, without directory */
    char directory[512]; /* VT_PFORM_GDIR, absolute */
    char buffer[768]; /* path of the buffer file, empty when there is none */
};

/* ---- Chunk: 64 KiB of the buffer file, at a multiple of 64 KiB; chunk 0 holds struct vt_file, and from VT_LAST_CHUNK on
   a chunk with the definitions of the process's end that can be stored nowhere else                                 ---- */
enum vt_chunk_state { VT_CHUNK_FREE = 0, VT_CHUNK_FILLING = 1, VT_CHUNK_FULL = 2 };

/* open[i]: low 32 bits = what of the enter; or bit 63 set and the address of a function without a slot */
#define VT_OPEN_ADDRESS 0x8000000000000000u

struct vt_chunk {
    uint32_t location, sequence; /* sequence counts per location and content */
    uint32_t thread; /* kernel id of the thread that began it */
    uint32_t records; /* of a full chunk; of definitions always */
    uint64_t ticks; /* absolute time that the first delta counts from */
    struct vt_clock_pair pair; /* newest known when the chunk was taken */
    uint64_t lost; /* events this location had lost before */
    uint64_t dropped; /* records of the chunks before it that a flight recorder has overwritten; 0: none is missing */
    uint32_t depth, nopen; /* open regions at the begin: all, and how many stand in open[] */
    uint16_t head; /* end of the published records in the chunk; 0 = 65536; stored after each record */
    uint8_t state, content;
    uint32_t classes; /* of a full chunk */
    uint64_t end_ticks; /* of a full chunk: time of its last record */
    uint32_t next, used; /* list link, bytes of records; of no meaning in a file */
    uint64_t open[VT_OPEN_MAX]; /* outermost first */
};

/* ---- Block: one chunk in a def or events file ---- */
enum vt_codec {
    VT_RAW = 0, /* as in the chunk */
    VT_ZSTD = 1, /* zstd frame of the bytes (definitions) */
    VT_ZSTD_COLUMNS = 2, /* zstd frame of struct vt_columns and what follows it */
    VT_VARINT = 3, /* each word: LEB128 of its upper half, then of its lower half rotated left by 2 */
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

/* ---- Columns: the records of a block by what they say ---------------------------------------
   Behind the head, each as byte planes (all lowest bytes, then all second bytes, ...):
     whats     of each distinct lower half of records' first words (what happened): it, and above it in 16 bits how many
               records have it
     index     of each record in its order the number of its what; 1 byte, 2 with more than 256 whats
     times     of each record its ticks; or, with a step, n << 8 | r for n * step / 65536 (rounded down) + r -
               VT_STEP_ZERO ticks
     payload   of the first what all first words, then all second ones, ..., then those of the second what: of each its
               difference d to the one before it (of the first to 0), as 2 * d, or -2 * d - 1 for a negative one */
struct vt_columns {
    uint16_t records, whats;
    uint32_t step; /* 65536 times the ticks between two values of the clock; 0: times are ticks */
    uint8_t time_bytes, payload_bytes; /* of each; all above them are 0 */
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
