/* SPDX-License-Identifier: BSD-3-Clause */
/* The I/O shim (libvtrace-io.so): wraps the functions of libc that open, read, write and change files, streams, sockets
   and pipes. The file of a family has one line for each function, written with the macros below: VT_IO_CALL (enter and
   leave only) and the macros that the family adds. Such a line begins with VT_IO_ and the name of the symbol.
   CMakeLists.txt reads the names from these lines and exports those that the libc of the machine exports, too.

   handle.c owns the table of descriptors, io_functions.c the table of functions; other files call the functions
   declared here. In this folder these rules always hold:
   - A wrapper calls the next definition exactly once and keeps its result and errno.
   - A wrapper may run in a signal handler or in the child of a vfork: it takes no lock and calls no malloc.
   - Calls between functions of libc do not use these symbols, so no call is recorded twice. */
#ifndef VT_IOWRAP_H
#define VT_IOWRAP_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/uio.h>
#include "core/write.h"

#define VT_INLINE inline __attribute__((always_inline))
#define VT_TLS _Thread_local __attribute__((tls_model("initial-exec")))

#pragma GCC visibility push(hidden)

/* ---- Functions (io_functions.c) ---- */

/* All are in one section of the library, where io_functions.c finds them. */
struct vt_io_function {
    void *next; /* the next definition of the symbol; set before off and region */
    _Atomic(uint32_t) region; /* 0: not called yet, or not recorded */
    uint8_t role; /* enum vt_role */
    bool hidden; /* a filter excludes it */
    const char *symbol, *name; /* name: as in the source code, such as getc for _IO_getc and read for __read_chk */
} __attribute__((aligned(32)));

#define VT_IO_ENTRY __attribute__((section("vt_io_functions"), used))

extern _Atomic(int) vt_io_off; /* 1: nothing is recorded in this process */
/* Defines the region of a function, at its first call. Returns 0 if the call is not recorded. */
uint32_t vt_io_first_call(struct vt_io_function *f);
/* Looks up the next definition of a function; a function that returns -1 and ENOSYS if there is none. */
void *vt_io_find(struct vt_io_function *f);

/* The next definition of a function. */
static inline void *vt_io_next(struct vt_io_function *f)
{
    void *next = VT_READ(f->next);
    return VT_LIKELY(next) ? next : vt_io_find(f);
}

static inline bool vt_io_is_off(void) { return VT_LIKELY(atomic_load_explicit(&vt_io_off, memory_order_acquire)); }

/* The region of a call; 0 if the call is not recorded. */
static inline uint32_t vt_io_begin(struct vt_io_function *f)
{
    const uint32_t region = atomic_load_explicit(&f->region, memory_order_acquire);
    return VT_LIKELY(region) ? region : vt_io_first_call(f);
}

/* Declares a wrapper under the name of the symbol; the body follows. libc's headers are not used for the declaration,
   since they redirect some of these names. */
#define VT_IO_EXPORT(symbol, shown, kind, type, params)                                                                \
    static struct vt_io_function vt_io_f_##symbol VT_IO_ENTRY = {NULL, 0, VT_ROLE_##kind, false, #symbol, #shown};     \
    __attribute__((visibility("default"))) type vt_wrap_##symbol params __asm__(#symbol);                              \
    type vt_wrap_##symbol params
#define VT_IO_NEXT(symbol, type, params) ((type(*) params)vt_io_f_##symbol.next)

/* As VT_IO_EXPORT, in two parts, so that a call costs little while nothing is recorded. The recording part follows. */
#define VT_IO_DEFINE(symbol, shown, kind, type, params, args)                                                          \
    static __attribute__((noinline)) type vt_record_##symbol params;                                                   \
    VT_IO_EXPORT(symbol, shown, kind, type, params)                                                                    \
    {                                                                                                                  \
        if (vt_io_is_off()) return VT_IO_NEXT(symbol, type, params) args;                                              \
        return vt_record_##symbol args;                                                                                \
    }                                                                                                                  \
    static type vt_record_##symbol params

/* Another name of the same function. */
#define VT_IO_ALIAS(other, symbol)                                                                                     \
    extern __typeof__(vt_wrap_##symbol) vt_wrap_##other __asm__(#other)                                                \
        __attribute__((alias(#symbol), visibility("default")));

/* First statement of each body: a call that is not recorded only calls the next definition. */
#define VT_IO_BEGIN(symbol, type, params, args)                                                                        \
    const uint32_t region = vt_io_begin(&vt_io_f_##symbol);                                                            \
    if (!region) return VT_IO_NEXT(symbol, type, params) args;

/* ---- Records ---- */

extern uint32_t vt_io_errno, vt_io_offset; /* ids of attributes: errno of a failed call, position of a pread */
/* Writes LEAVE with errno as an attribute. */
void vt_io_leave_failed(uint32_t region, int error);

/* failed: errno has the reason. */
static inline void vt_io_leave(uint32_t region, bool failed)
{
    if (VT_UNLIKELY(failed)) vt_io_leave_failed(region, errno);
    else vt_leave(region);
}

static inline uint64_t vt_io_pair(uint32_t low, uint32_t high) { return low | (uint64_t)high << 32; }

/* Records that are written together. */
struct vt_io_batch {
    unsigned n;
    uint64_t words[24];
};

uint64_t *vt_io_add(struct vt_io_batch *batch, unsigned words);
/* adds LEAVE and writes the batch; error: errno or 0 */
void vt_io_finish(struct vt_io_batch *batch, uint32_t region, int error);

/* result: the new position, or VT_IO_UNKNOWN if the call does not return it. handle 0: only LEAVE is written. */
void vt_io_leave_seek(uint32_t region, uint32_t handle, int64_t offset, int whence, uint64_t result, int error);

/* A wrapper with one statement before the call and one after the call, which may use the result r. */
#define VT_IO_WRAP(symbol, shown, kind, type, params, args, begin, end)                                                \
    VT_IO_DEFINE(symbol, shown, kind, type, params, args)                                                              \
    {                                                                                                                  \
        VT_IO_BEGIN(symbol, type, params, args)                                                                        \
        begin;                                                                                                         \
        type r = VT_IO_NEXT(symbol, type, params) args;                                                                \
        end;                                                                                                           \
        return r;                                                                                                      \
    }

/* A call without further records. failed: an expression of its result r. */
#define VT_IO_CALL(symbol, shown, kind, type, params, args, failed)                                                    \
    VT_IO_WRAP(symbol, shown, kind, type, params, args, vt_enter_call(region), vt_io_leave(region, failed))

/* A call with further records before its LEAVE. leave: a statement, which writes all these. */
#define VT_IO_METADATA(symbol, shown, type, params, args, leave)                                                       \
    VT_IO_WRAP(symbol, shown, FILE_IO_METADATA, type, params, args, vt_enter_call(region), leave)

/* ---- Handles (handle.c): one for each time a descriptor is opened, and one for the stream on it ---- */

/* The state of a descriptor is one word, since threads and signal handlers change it concurrently. Ids have 21 bits. */
#define VT_IO_OF_FD(e) ((uint32_t)(e) & VT_ID_MAX)
#define VT_IO_OF_STREAM(e) ((uint32_t)((e) >> 21) & VT_ID_MAX)
#define VT_IO_OF_FILE(e) ((uint32_t)((e) >> 42) & VT_ID_MAX)
#define VT_IO_WORD(fd, stream, file) ((uint64_t)(fd) | (uint64_t)(stream) << 21 | (uint64_t)(file) << 42)

#define VT_IO_PAGE 1024u
#define VT_IO_PAGES 16384u /* larger descriptors have no handle */

struct vt_io_page {
    _Atomic(uint64_t) of[VT_IO_PAGE];
};
extern struct vt_io_page *_Atomic vt_io_pages[VT_IO_PAGES];

static inline _Atomic(uint64_t) *vt_io_place(int fd)
{
    const unsigned page = (unsigned)fd / VT_IO_PAGE;
    struct vt_io_page *p = page < VT_IO_PAGES ? atomic_load_explicit(&vt_io_pages[page], memory_order_acquire) : NULL;
    return p ? &p->of[(unsigned)fd % VT_IO_PAGE] : NULL;
}

/* The state of a descriptor; 0 if it is unknown. */
static inline uint64_t vt_io_known(int fd)
{
    const _Atomic(uint64_t) *place = vt_io_place(fd);
    return place ? atomic_load_explicit(place, memory_order_acquire) : 0;
}

/* Defines the handle of a descriptor or stream that the program did not open by a wrapped function; 0 on failure. */
uint32_t vt_io_define_fd(int fd);
uint32_t vt_io_define_stream(FILE *stream);

/* The handle of a descriptor; 0 if it is not open or cannot be defined. An unknown descriptor is defined now. */
static inline uint32_t vt_io_fd(int fd)
{
    const uint32_t handle = VT_IO_OF_FD(vt_io_known(fd));
    return VT_LIKELY(handle) ? handle : vt_io_define_fd(fd);
}

/* The descriptor identifies a stream. A stream in memory has none. fileno() would set errno for such a stream. */
static inline int vt_io_fileno(const FILE *stream) { return stream->_fileno; }

/* As ferror(), without a call. */
static inline bool vt_io_in_error(const FILE *stream) { return stream->_flags & 0x20; }

static inline uint32_t vt_io_stream(FILE *stream)
{
    const uint32_t handle = VT_IO_OF_STREAM(vt_io_known(vt_io_fileno(stream)));
    return VT_LIKELY(handle) ? handle : vt_io_define_stream(stream);
}

/* Defines a handle after a call that opened a file. flags: those of open(2). directory, path: as for openat(2); path
   NULL: /proc has the path. */
void vt_io_opened(struct vt_io_batch *batch, int fd, int directory, const char *path, int flags);
void vt_io_opened_stream(struct vt_io_batch *batch, FILE *stream, const char *path, int flags);
void vt_io_stream_on(struct vt_io_batch *batch, FILE *stream, int flags);
void vt_io_duplicated(struct vt_io_batch *batch, int from, int to, uint64_t replaced, int flags);
/* before close: another thread may get the same number */
uint64_t vt_io_take(int fd);
void vt_io_restore(int fd, uint64_t known); /* the call did not close it */
void vt_io_closed(struct vt_io_batch *batch, uint64_t known);
void vt_io_close_range(uint32_t region, unsigned first, unsigned last);
uint32_t vt_io_file(int directory, const char *path); /* id of a file, or 0 */
void vt_io_renames(void); /* before and after a call that may rename a directory */
uint32_t vt_io_status(int flags); /* flags of open(2) to OTF2_IoStatusFlag */
int vt_io_mode_flags(const char *mode); /* mode of fopen(3) to flags of open(2) */
/* Defines the handles of stdin, stdout and stderr. */
void vt_io_define_standard(void);

/* ---- Transfers ---- */

enum vt_io_mode { VT_IO_READ = 0, VT_IO_WRITE = 1, VT_IO_FLUSH = 2 }; /* OTF2_IoOperationMode */
#define VT_IO_NON_BLOCKING 1u /* OTF2_IoOperationFlag */

struct vt_io_transfer {
    uint32_t region, handle;
};

extern VT_TLS uint64_t vt_io_next_match;
uint64_t vt_io_first_match(void);
void vt_io_transfer_failed(struct vt_io_transfer t, uint64_t done, int error);

/* Returns a number that identifies an operation. Needed if an operation may outlive its call, or if a call has several.
   Unique in the process; each thread counts its own. */
static inline uint64_t vt_io_match(void)
{
    const uint64_t match = vt_io_next_match;
    if (VT_UNLIKELY(!match)) return vt_io_first_match();
    vt_io_next_match = match + 1;
    return match;
}

/* Begins a call with one operation. bytes: number requested, or VT_IO_UNKNOWN. */
static VT_INLINE struct vt_io_transfer vt_io_transfer(uint32_t region, uint32_t handle, enum vt_io_mode mode,
                                                      uint64_t bytes)
{
    const uint64_t enter = VT_HEAD(VT_K_ENTER, 0, region);
    const uintptr_t stack = VT_CALLED_AT;
    if (VT_LIKELY(handle))
        vt_write_framed(VT_FRAME_OPENS, stack, region, enter, VT_HEAD(VT_K_IO_READ + mode, 1, handle), bytes, 0, 0, 3);
    else vt_enter_call(region);
    return (struct vt_io_transfer){region, handle};
}

/* The same at an explicit offset. */
static VT_INLINE struct vt_io_transfer vt_io_transfer_at(uint32_t region, uint32_t handle, enum vt_io_mode mode,
                                                         uint64_t bytes, int64_t offset)
{
    const uint64_t enter = VT_HEAD(VT_K_ENTER, 0, region), at = VT_HEAD(VT_K_ATTRIBUTE, 1, vt_io_offset);
    const uint64_t begin = VT_HEAD(VT_K_IO_READ + mode, 1, handle), from = (uint64_t)offset;
    if (VT_LIKELY(handle)) vt_write_framed(VT_FRAME_OPENS, VT_CALLED_AT, region, enter, at, from, begin, bytes, 5);
    else vt_enter_call(region);
    return (struct vt_io_transfer){region, handle};
}

/* Ends the call. done: bytes transferred, also if the call failed. failed: errno has the reason. */
static VT_INLINE void vt_io_transferred(const struct vt_io_transfer *t, uint64_t done, bool failed)
{
    if (VT_UNLIKELY(failed || !t->handle)) {
        vt_io_transfer_failed(*t, done, failed ? errno : 0);
        return;
    }
    const uint64_t leave = VT_HEAD(VT_K_LEAVE, 0, t->region);
    vt_write_framed(VT_FRAME_CLOSES, VT_OWN_FRAME, 0, VT_HEAD(VT_K_IO_DONE, 1, t->handle), done, leave, 0, 0, 3);
}

/* Number of bytes in a list of buffers (io_functions.c). VT_IO_UNKNOWN if the kernel will refuse the list: too long, or
   not readable. */
uint64_t vt_io_bytes_of(const struct iovec *iov, int n);
/* Returns whether 8 bytes at an address can be read. */
bool vt_io_readable(const void *word);

/* A call with one operation. done, failed: as for vt_io_transferred; expressions of its result r. */
#define VT_IO_OPERATION(symbol, shown, type, params, args, handle, mode, bytes, done, failed)                          \
    VT_IO_WRAP(symbol, shown, FILE_IO, type, params, args,                                                             \
               struct vt_io_transfer t = vt_io_transfer(region, handle, mode, bytes),                                  \
               vt_io_transferred(&t, done, failed))

/* A call that reads or writes and returns the number of bytes, or -1. */
#define VT_IO_TRANSFER(symbol, shown, params, args, fd, mode, bytes)                                                   \
    VT_IO_OPERATION(symbol, shown, ssize_t, params, args, vt_io_fd(fd), VT_IO_##mode, bytes, r > 0 ? (uint64_t)r : 0,  \
                    r < 0)

/* The same at an explicit offset; -1 is the file's own position. */
#define VT_IO_TRANSFER_AT(symbol, shown, params, args, fd, mode, bytes, offset)                                        \
    VT_IO_WRAP(symbol, shown, FILE_IO, ssize_t, params, args,                                                          \
               struct vt_io_transfer t = vt_io_transfer_at(region, vt_io_fd(fd), VT_IO_##mode, bytes, offset),         \
               vt_io_transferred(&t, r > 0 ? (uint64_t)r : 0, r < 0))

#pragma GCC visibility pop

#endif
