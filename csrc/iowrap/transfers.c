/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading and writing by descriptor. */
#define _GNU_SOURCE
#include <sys/types.h>
#include <sys/uio.h>
#include "iowrap.h"

VT_IO_TRANSFER(read, read, (int fd, void *to, size_t n), (fd, to, n), fd, READ, n)
VT_IO_TRANSFER(__read_chk, read, (int fd, void *to, size_t n, size_t room), (fd, to, n, room), fd, READ, n)
VT_IO_TRANSFER(write, write, (int fd, const void *from, size_t n), (fd, from, n), fd, WRITE, n)
VT_IO_ALIAS(__read, read)
VT_IO_ALIAS(__write, write)

VT_IO_TRANSFER_AT(pread, pread, (int fd, void *to, size_t n, off_t at), (fd, to, n, at), fd, READ, n, at)
VT_IO_TRANSFER_AT(pread64, pread64, (int fd, void *to, size_t n, off64_t at), (fd, to, n, at), fd, READ, n, at)
VT_IO_TRANSFER_AT(__pread_chk, pread, (int fd, void *to, size_t n, off_t at, size_t room), (fd, to, n, at, room), fd,
                  READ, n, at)
VT_IO_TRANSFER_AT(__pread64_chk, pread64, (int fd, void *to, size_t n, off64_t at, size_t room), (fd, to, n, at, room),
                  fd, READ, n, at)
VT_IO_TRANSFER_AT(pwrite, pwrite, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at), fd, WRITE, n, at)
VT_IO_TRANSFER_AT(pwrite64, pwrite64, (int fd, const void *from, size_t n, off64_t at), (fd, from, n, at), fd, WRITE, n,
                  at)
VT_IO_ALIAS(__pread64, pread64)
VT_IO_ALIAS(__pwrite64, pwrite64)

#define IOV const struct iovec *iov, int n
VT_IO_TRANSFER(readv, readv, (int fd, IOV), (fd, iov, n), fd, READ, vt_io_bytes_of(iov, n))
VT_IO_TRANSFER(writev, writev, (int fd, IOV), (fd, iov, n), fd, WRITE, vt_io_bytes_of(iov, n))
VT_IO_TRANSFER_AT(preadv, preadv, (int fd, IOV, off_t at), (fd, iov, n, at), fd, READ, vt_io_bytes_of(iov, n), at)
VT_IO_TRANSFER_AT(preadv64, preadv64, (int fd, IOV, off64_t at), (fd, iov, n, at), fd, READ, vt_io_bytes_of(iov, n), at)
VT_IO_TRANSFER_AT(pwritev, pwritev, (int fd, IOV, off_t at), (fd, iov, n, at), fd, WRITE, vt_io_bytes_of(iov, n), at)
VT_IO_TRANSFER_AT(pwritev64, pwritev64, (int fd, IOV, off64_t at), (fd, iov, n, at), fd, WRITE, vt_io_bytes_of(iov, n),
                  at)
VT_IO_TRANSFER_AT(preadv2, preadv2, (int fd, IOV, off_t at, int flags), (fd, iov, n, at, flags), fd, READ,
                  vt_io_bytes_of(iov, n), at)
VT_IO_TRANSFER_AT(preadv64v2, preadv64v2, (int fd, IOV, off64_t at, int flags), (fd, iov, n, at, flags), fd, READ,
                  vt_io_bytes_of(iov, n), at)
VT_IO_TRANSFER_AT(pwritev2, pwritev2, (int fd, IOV, off_t at, int flags), (fd, iov, n, at, flags), fd, WRITE,
                  vt_io_bytes_of(iov, n), at)
VT_IO_TRANSFER_AT(pwritev64v2, pwritev64v2, (int fd, IOV, off64_t at, int flags), (fd, iov, n, at, flags), fd, WRITE,
                  vt_io_bytes_of(iov, n), at)

/* ---- From one descriptor to another: a read and a write in one call ---- */

struct vector_copy {
    uint32_t handle;
    uint64_t match;
};

static struct vector_copy begin_copy(int fd, enum vt_io_mode mode, size_t n)
{
    struct vector_copy c = {vt_io_fd(fd), 0};
    if (!c.handle) return c;
    c.match = vt_io_match();
    vt_write_4(VT_HEAD(VT_K_IO_BEGIN, 3, c.handle), mode, n, c.match);
    return c;
}

static void end_copy(struct vector_copy c, uint64_t done)
{
    if (c.handle) vt_write_3(VT_HEAD(VT_K_IO_COMPLETE, 2, c.handle), done, c.match);
}

#define VT_IO_COPY(symbol, params, args, from, to, bytes)                                                              \
    VT_IO_DEFINE(symbol, symbol, FILE_IO, ssize_t, params, args)                                                       \
    {                                                                                                                  \
        VT_IO_BEGIN(symbol, ssize_t, params, args)                                                                     \
        vt_enter_call(region);                                                                                         \
        const struct vector_copy read = begin_copy(from, VT_IO_READ, bytes),                                           \
                                 write = begin_copy(to, VT_IO_WRITE, bytes);                                           \
        ssize_t r = VT_IO_NEXT(symbol, ssize_t, params) args;                                                          \
        end_copy(read, r > 0 ? (uint64_t)r : 0);                                                                       \
        end_copy(write, r > 0 ? (uint64_t)r : 0);                                                                      \
        vt_io_leave(region, r < 0);                                                                                    \
        return r;                                                                                                      \
    }

VT_IO_COPY(sendfile, (int to, int from, off_t *at, size_t n), (to, from, at, n), from, to, n)
VT_IO_COPY(sendfile64, (int to, int from, off64_t *at, size_t n), (to, from, at, n), from, to, n)
VT_IO_COPY(copy_file_range, (int from, off64_t *from_at, int to, off64_t *to_at, size_t n, unsigned flags),
           (from, from_at, to, to_at, n, flags), from, to, n)
VT_IO_COPY(splice, (int from, off64_t *from_at, int to, off64_t *to_at, size_t n, unsigned flags),
           (from, from_at, to, to_at, n, flags), from, to, n)
VT_IO_COPY(tee, (int from, int to, size_t n, unsigned flags), (from, to, n, flags), from, to, n)
VT_IO_TRANSFER(vmsplice, vmsplice, (int fd, const struct iovec *iov, size_t n, unsigned flags), (fd, iov, n, flags), fd,
               WRITE, vt_io_bytes_of(iov, (int)n))

/* ---- Synchronization with the disk ---- */

/* A call that writes cached data; the number of bytes is unknown. */
#define VT_IO_SYNC(symbol, params, args)                                                                               \
    VT_IO_OPERATION(symbol, symbol, int, params, args, vt_io_fd(fd), VT_IO_FLUSH, VT_IO_UNKNOWN,                       \
                    r < 0 ? 0 : VT_IO_UNKNOWN, r < 0)

VT_IO_SYNC(fsync, (int fd), (fd))
VT_IO_SYNC(fdatasync, (int fd), (fd))
VT_IO_SYNC(syncfs, (int fd), (fd))
VT_IO_SYNC(sync_file_range, (int fd, off64_t at, off64_t n, unsigned flags), (fd, at, n, flags))
