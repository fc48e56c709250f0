/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets: their handles have the names of /proc; sending and receiving. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/socket.h>
#include "iowrap.h"

/* ---- Opening ---- */

/* SOCK_CLOEXEC and SOCK_NONBLOCK equal O_CLOEXEC and O_NONBLOCK. */
static void leave_sockets(uint32_t region, const int *made, int n, int flags, bool failed)
{
    struct vt_io_batch batch = {0};
    const int error = failed ? errno : 0;
    for (int i = 0; i < n && !failed; i++)
        vt_io_opened(&batch, made[i], AT_FDCWD, NULL, O_RDWR | (flags & (SOCK_CLOEXEC | SOCK_NONBLOCK)));
    vt_io_finish(&batch, region, error);
}

#define VT_IO_SOCKET(symbol, params, args, flags)                                                                      \
    VT_IO_METADATA(symbol, symbol, int, params, args, leave_sockets(region, &r, 1, flags, r < 0))

VT_IO_SOCKET(socket, (int domain, int type, int protocol), (domain, type, protocol), type)
VT_IO_SOCKET(accept, (int fd, struct sockaddr *from, socklen_t *n), (fd, from, n), 0)
VT_IO_SOCKET(accept4, (int fd, struct sockaddr *from, socklen_t *n, int flags), (fd, from, n, flags), flags)
VT_IO_ALIAS(__socket, socket)

VT_IO_METADATA(socketpair, socketpair, int, (int domain, int type, int protocol, int *ends),
               (domain, type, protocol, ends), leave_sockets(region, ends, 2, type, r < 0))

VT_IO_CALL(connect, connect, FILE_IO_METADATA, int, (int fd, const struct sockaddr *to, socklen_t n), (fd, to, n),
           r < 0)
VT_IO_CALL(bind, bind, FILE_IO_METADATA, int, (int fd, const struct sockaddr *to, socklen_t n), (fd, to, n), r < 0)
VT_IO_CALL(listen, listen, FILE_IO_METADATA, int, (int fd, int n), (fd, n), r < 0)
VT_IO_CALL(shutdown, shutdown, FILE_IO_METADATA, int, (int fd, int how), (fd, how), r < 0)
VT_IO_ALIAS(__connect, connect)

/* ---- Sending and receiving ---- */

static uint64_t bytes_of(const struct msghdr *m)
{
    if (!vt_io_readable(&m->msg_iov) || !vt_io_readable(&m->msg_iovlen) || m->msg_iovlen > 1024) return VT_IO_UNKNOWN;
    return vt_io_bytes_of(m->msg_iov, (int)m->msg_iovlen);
}

VT_IO_TRANSFER(send, send, (int fd, const void *from, size_t n, int flags), (fd, from, n, flags), fd, WRITE, n)
VT_IO_TRANSFER(sendto, sendto, (int fd, const void *from, size_t n, int flags, const void *to, socklen_t length),
               (fd, from, n, flags, to, length), fd, WRITE, n)
VT_IO_TRANSFER(sendmsg, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags), fd, WRITE, bytes_of(m))
VT_IO_TRANSFER(recv, recv, (int fd, void *to, size_t n, int flags), (fd, to, n, flags), fd, READ, n)
VT_IO_TRANSFER(__recv_chk, recv, (int fd, void *to, size_t n, size_t room, int flags), (fd, to, n, room, flags), fd,
               READ, n)
VT_IO_TRANSFER(recvfrom, recvfrom, (int fd, void *to, size_t n, int flags, void *from, socklen_t *length),
               (fd, to, n, flags, from, length), fd, READ, n)
VT_IO_TRANSFER(__recvfrom_chk, recvfrom,
               (int fd, void *to, size_t n, size_t room, int flags, void *from, socklen_t *length),
               (fd, to, n, room, flags, from, length), fd, READ, n)
VT_IO_TRANSFER(recvmsg, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags), fd, READ, bytes_of(m))
VT_IO_ALIAS(__send, send)
VT_IO_ALIAS(__recv, recv)

/* Several messages in one call. libc stores the number of bytes in each message. */
static uint64_t bytes_done(const struct mmsghdr *m, int n)
{
    uint64_t bytes = 0;
    for (int i = 0; i < n; i++) bytes += m[i].msg_len;
    return bytes;
}

#define VT_IO_MMSG(symbol, params, args, mode)                                                                         \
    VT_IO_OPERATION(symbol, symbol, int, params, args, vt_io_fd(fd), VT_IO_##mode, VT_IO_UNKNOWN, bytes_done(m, r),    \
                    r < 0)

VT_IO_MMSG(sendmmsg, (int fd, struct mmsghdr *m, unsigned n, int flags), (fd, m, n, flags), WRITE)
VT_IO_MMSG(recvmmsg, (int fd, struct mmsghdr *m, unsigned n, int flags, struct timespec *wait), (fd, m, n, flags, wait),
           READ)
VT_IO_ALIAS(__sendmmsg, sendmmsg)
