/* SPDX-License-Identifier: BSD-3-Clause */
/* Each call on sockets, with its expected records: a connection of the program with itself. */
#define _GNU_SOURCE
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include "io.h"

static volatile size_t size = 10;
static char bytes[64] = "0123456789abcdef";

static void messages(int a, int b)
{
    struct iovec parts[2] = {{bytes, 3}, {bytes + 3, 4}};
    struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
    struct mmsghdr many[2] = {{m, 0}, {m, 0}};
    CALL(send(a, bytes, size, 0) == 10, "send w:socket:10:10");
    CALL(recv(b, bytes, size, 0) == 10, "recv r:socket:10:10");
    CALL(sendto(a, bytes, 6, 0, NULL, 0) == 6, "sendto w:socket:6:6");
    CALL(recvfrom(b, bytes, size, 0, NULL, NULL) == 6, "recvfrom r:socket:10:6");
    CALL(sendmsg(a, &m, 0) == 7, "sendmsg w:socket:7:7");
    CALL(recvmsg(b, &m, 0) == 7, "recvmsg r:socket:7:7");
    CALL(sendmsg(a, (struct msghdr *)8, 0) < 0, "sendmsg w:socket:?:0 !%d", EFAULT);
    CALL(sendmmsg(a, many, 2, 0) == 2, "sendmmsg w:socket:?:14");
    CALL(recvmmsg(b, many, 1, 0, NULL) == 1, "recvmmsg r:socket:?:7");
    CALL(recv(b, bytes, size, MSG_DONTWAIT) == 7, "recv r:socket:10:7");
    CALL(recv(b, bytes, size, MSG_DONTWAIT) < 0, "recv r:socket:10:0 !%d", EAGAIN);
    CALL(write(a, bytes, 5) == 5, "write w:socket:5:5");
    CALL(read(b, bytes, size) == 5, "read r:socket:10:5");
    CALL(!shutdown(a, SHUT_WR), "shutdown");
    CALL(read(b, bytes, size) == 0, "read r:socket:10:0");
    CALL(send(a, bytes, 1, MSG_NOSIGNAL) < 0, "send w:socket:1:0 !%d", EPIPE);
}

int main(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "here"};
    int ends[2], listener, client, served;
    CALL(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair +socket +socket");
    messages(ends[0], ends[1]);
    CALL(!close(ends[0]), "close -socket");
    CALL(!close(ends[1]), "close -socket");
    CALL((listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) >= 0, "socket +socket");
    CALL(!bind(listener, (void *)&name, sizeof name), "bind");
    CALL(!listen(listener, 4), "listen");
    CALL((client = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0, "socket +socket");
    CALL(!connect(client, (void *)&name, sizeof name), "connect");
    CALL((served = accept(listener, NULL, NULL)) >= 0, "accept +socket");
    CALL(!close(served), "close -socket");
    CALL(!close(client), "close -socket");
    CALL((client = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0, "socket +socket");
    CALL(!connect(client, (void *)&name, sizeof name), "connect");
    CALL((served = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0, "accept4 +socket");
    CALL(connect(client, (void *)&name, sizeof name) < 0, "connect !%d", EISCONN);
    CALL(!close(served), "close -socket");
    CALL(!close(client), "close -socket");
    CALL(!close(listener), "close -socket");
    CALL(!unlink("here"), "unlink x:here");
    tell();
    return 0;
}
