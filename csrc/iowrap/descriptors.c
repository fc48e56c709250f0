/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors: open, close, duplicate, seek, lock, and pipes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/file.h>
#include <sys/types.h>
#include <unistd.h>
#include "iowrap.h"

/* ---- Opening ---- */

static void leave_opened(uint32_t region, int fd, int directory, const char *path, int flags)
{
    struct vt_io_batch batch = {0};
    const int error = fd < 0 ? errno : 0;
    const bool nameless = (flags & O_TMPFILE) == O_TMPFILE; /* path is the directory */
    if (fd >= 0) vt_io_opened(&batch, fd, directory, nameless ? NULL : path, flags);
    vt_io_finish(&batch, region, error);
}

/* A call that returns a descriptor. path: NULL if it is read from /proc. The mode of open and openat is passed on
   always: in the ABIs of 64-bit Linux it is an argument like any other. */
#define VT_IO_OPEN(symbol, shown, params, args, directory, path, flags)                                                \
    VT_IO_METADATA(symbol, shown, int, params, args, leave_opened(region, r, directory, path, flags))

VT_IO_OPEN(open, open, (const char *path, int flags, mode_t mode), (path, flags, mode), AT_FDCWD, path, flags)
VT_IO_OPEN(open64, open64, (const char *path, int flags, mode_t mode), (path, flags, mode), AT_FDCWD, path, flags)
VT_IO_OPEN(openat, openat, (int at, const char *path, int flags, mode_t mode), (at, path, flags, mode), at, path, flags)
VT_IO_OPEN(openat64, openat64, (int at, const char *path, int flags, mode_t mode), (at, path, flags, mode), at, path,
           flags)
VT_IO_OPEN(__open_2, open, (const char *path, int flags), (path, flags), AT_FDCWD, path, flags)
VT_IO_OPEN(__open64_2, open64, (const char *path, int flags), (path, flags), AT_FDCWD, path, flags)
VT_IO_OPEN(__openat_2, openat, (int at, const char *path, int flags), (at, path, flags), at, path, flags)
VT_IO_OPEN(__openat64_2, openat64, (int at, const char *path, int flags), (at, path, flags), at, path, flags)
VT_IO_OPEN(creat, creat, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC)
VT_IO_OPEN(creat64, creat64, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path,
           O_WRONLY | O_CREAT | O_TRUNC)
VT_IO_ALIAS(__open, open)
VT_IO_ALIAS(__open64, open64)

#define NEW (O_RDWR | O_CREAT | O_EXCL)
VT_IO_OPEN(mkstemp, mkstemp, (char *path), (path), AT_FDCWD, path, NEW)
VT_IO_OPEN(mkstemp64, mkstemp64, (char *path), (path), AT_FDCWD, path, NEW)
VT_IO_OPEN(mkostemp, mkostemp, (char *path, int flags), (path, flags), AT_FDCWD, path, flags | NEW)
VT_IO_OPEN(mkostemp64, mkostemp64, (char *path, int flags), (path, flags), AT_FDCWD, path, flags | NEW)
VT_IO_OPEN(mkstemps, mkstemps, (char *path, int length), (path, length), AT_FDCWD, path, NEW)
VT_IO_OPEN(mkstemps64, mkstemps64, (char *path, int length), (path, length), AT_FDCWD, path, NEW)
VT_IO_OPEN(mkostemps, mkostemps, (char *path, int length, int flags), (path, length, flags), AT_FDCWD, path,
           flags | NEW)
VT_IO_OPEN(mkostemps64, mkostemps64, (char *path, int length, int flags), (path, length, flags), AT_FDCWD, path,
           flags | NEW)
VT_IO_OPEN(memfd_create, memfd_create, (const char *name, unsigned flags), (name, flags), AT_FDCWD, NULL,
           O_RDWR | O_CREAT | (flags & 1 /* MFD_CLOEXEC */ ? O_CLOEXEC : 0))

/* ---- Pipes ---- */

static void leave_pipe(uint32_t region, const int *ends, int flags, bool failed)
{
    struct vt_io_batch batch = {0};
    const int error = failed ? errno : 0;
    for (int i = 0; i < 2 && !failed; i++)
        vt_io_opened(&batch, ends[i], AT_FDCWD, NULL, flags | (i ? O_WRONLY : O_RDONLY));
    vt_io_finish(&batch, region, error);
}

#define VT_IO_PAIR(symbol, shown, params, args, flags)                                                                 \
    VT_IO_METADATA(symbol, shown, int, params, args, leave_pipe(region, ends, flags, r < 0))

VT_IO_PAIR(pipe, pipe, (int *ends), (ends), 0)
VT_IO_PAIR(pipe2, pipe2, (int *ends, int flags), (ends, flags), flags)
VT_IO_ALIAS(__pipe, pipe)

/* ---- Closing ---- */

VT_IO_DEFINE(close, close, FILE_IO_METADATA, int, (int fd), (fd))
{
    VT_IO_BEGIN(close, int, (int), (fd))
    vt_enter_call(region);
    const uint64_t known = vt_io_take(fd);
    const int r = VT_IO_NEXT(close, int, (int))(fd);
    struct vt_io_batch batch = {0};
    const int error = r < 0 ? errno : 0;
    if (error == EBADF) vt_io_restore(fd, known); /* after any other error the descriptor is closed (close(2)) */
    else vt_io_closed(&batch, known);
    vt_io_finish(&batch, region, error);
    return r;
}
VT_IO_ALIAS(__close, close)

VT_IO_DEFINE(close_range, close_range, FILE_IO_METADATA, int, (unsigned first, unsigned last, int flags),
             (first, last, flags))
{
    VT_IO_BEGIN(close_range, int, (unsigned, unsigned, int), (first, last, flags))
    if (flags & 4 /* CLOSE_RANGE_CLOEXEC */ || first > last) vt_enter_call(region);
    else vt_io_close_range(region, first, last);
    const int r = VT_IO_NEXT(close_range, int, (unsigned, unsigned, int))(first, last, flags);
    vt_io_leave(region, r < 0);
    return r;
}

VT_IO_DEFINE(closefrom, closefrom, FILE_IO_METADATA, void, (int first), (first))
{
    VT_IO_BEGIN(closefrom, void, (int), (first))
    vt_io_close_range(region, first < 0 ? 0 : (unsigned)first, ~0u);
    VT_IO_NEXT(closefrom, void, (int))(first);
    vt_leave(region);
}

/* ---- Duplicating ---- */

static void leave_duplicated(uint32_t region, int from, int to, uint64_t replaced, int flags)
{
    struct vt_io_batch batch = {0};
    const int error = to < 0 ? errno : 0;
    if (to >= 0) vt_io_duplicated(&batch, from, to, replaced, flags);
    vt_io_finish(&batch, region, error);
}

VT_IO_METADATA(dup, dup, int, (int from), (from), leave_duplicated(region, from, r, 0, 0))

/* The descriptor `to` is closed by the call, unless it equals `from`. */
#define VT_IO_DUP(symbol, shown, params, args, flags)                                                                  \
    VT_IO_DEFINE(symbol, shown, FILE_IO_METADATA, int, params, args)                                                   \
    {                                                                                                                  \
        VT_IO_BEGIN(symbol, int, params, args)                                                                         \
        vt_enter_call(region);                                                                                         \
        const uint64_t replaced = from == to ? 0 : vt_io_take(to);                                                     \
        const int r = VT_IO_NEXT(symbol, int, params) args;                                                            \
        if (r < 0) vt_io_restore(to, replaced);                                                                        \
        if (r >= 0 && from == to) vt_leave(region);                                                                    \
        else leave_duplicated(region, from, r, replaced, flags);                                                       \
        return r;                                                                                                      \
    }

VT_IO_DUP(dup2, dup2, (int from, int to), (from, to), 0)
VT_IO_DUP(dup3, dup3, (int from, int to, int flags), (from, to, flags), flags)
VT_IO_ALIAS(__dup2, dup2)

/* ---- Locks ---- */

enum { EXCLUSIVE, SHARED }; /* OTF2_LockType */

/* Writes the records after a call that acquired or released a lock, or failed to. kind 0: no lock. */
static void leave_lock(uint32_t region, int fd, uint32_t kind, uint32_t type, int r)
{
    struct vt_io_batch batch = {0};
    const int error = r < 0 ? errno : 0;
    const uint32_t handle = !kind || (error && kind != VT_K_IO_TRY_LOCK) ? 0 : vt_io_fd(fd);
    if (handle) {
        uint64_t *words = vt_io_add(&batch, 2);
        words[0] = VT_HEAD(kind == VT_K_IO_TRY_LOCK && !error ? VT_K_IO_ACQUIRE_LOCK : kind, 1, handle);
        words[1] = type;
    }
    vt_io_finish(&batch, region, error);
}

static uint32_t flock_kind(int operation)
{
    if (operation & LOCK_UN) return VT_K_IO_RELEASE_LOCK;
    return operation & LOCK_NB ? VT_K_IO_TRY_LOCK : VT_K_IO_ACQUIRE_LOCK;
}

VT_IO_METADATA(flock, flock, int, (int fd, int operation), (fd, operation),
               leave_lock(region, fd, flock_kind(operation), operation &LOCK_SH ? SHARED : EXCLUSIVE, r))

static uint32_t lockf_kind(int command)
{
    return command == F_LOCK    ? VT_K_IO_ACQUIRE_LOCK
           : command == F_TLOCK ? VT_K_IO_TRY_LOCK
           : command == F_ULOCK ? VT_K_IO_RELEASE_LOCK
                                : 0;
}

#define VT_IO_LOCKF(symbol, offset)                                                                                    \
    VT_IO_METADATA(symbol, symbol, int, (int fd, int command, offset bytes), (fd, command, bytes),                     \
                   leave_lock(region, fd, lockf_kind(command), EXCLUSIVE, r))

VT_IO_LOCKF(lockf, off_t)
VT_IO_LOCKF(lockf64, off64_t)

/* ---- fcntl ---- */

static void leave_fcntl(uint32_t region, int fd, int command, long argument, int r)
{
    struct vt_io_batch batch = {0};
    uint32_t handle;
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {
        leave_duplicated(region, fd, r, 0, command == F_DUPFD_CLOEXEC ? O_CLOEXEC : 0);
        return;
    }
    if (command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW) {
        const bool tries = command == F_SETLK || command == F_OFD_SETLK;
        const bool refused = r < 0 && errno != EAGAIN && errno != EACCES; /* the address of its lock may be invalid */
        const short type = refused ? F_UNLCK : ((const struct flock *)argument)->l_type;
        /* clang-format off */
        leave_lock(region, fd, type == F_UNLCK ? VT_K_IO_RELEASE_LOCK : tries ? VT_K_IO_TRY_LOCK : VT_K_IO_ACQUIRE_LOCK,
                   /* clang-format on */
                   type == F_RDLCK ? SHARED : EXCLUSIVE, r);
        return;
    }
    const int error = r < 0 ? errno : 0;
    if (command == F_SETFL && !error && (handle = vt_io_fd(fd))) {
        uint64_t *words = vt_io_add(&batch, 2);
        words[0] = VT_HEAD(VT_K_IO_STATUS, 1, handle);
        words[1] = vt_io_status((int)argument);
    }
    vt_io_finish(&batch, region, error);
}

/* The third argument is a number, a pointer, or absent. The wrapper passes the argument on unchanged. */
#define VT_IO_FCNTL(symbol)                                                                                            \
    VT_IO_METADATA(symbol, symbol, int, (int fd, int command, long argument), (fd, command, argument),                 \
                   leave_fcntl(region, fd, command, argument, r))

VT_IO_FCNTL(fcntl)
VT_IO_FCNTL(fcntl64)
VT_IO_ALIAS(__fcntl, fcntl)

/* ---- Seeking ---- */

#define VT_IO_LSEEK(symbol, offset)                                                                                    \
    VT_IO_METADATA(symbol, symbol, offset, (int fd, offset to, int whence), (fd, to, whence),                          \
                   vt_io_leave_seek(region, r < 0 ? 0 : vt_io_fd(fd), to, whence, (uint64_t)r, r < 0 ? errno : 0))

VT_IO_LSEEK(lseek, off_t)
VT_IO_LSEEK(lseek64, off64_t)
VT_IO_ALIAS(__lseek, lseek)
