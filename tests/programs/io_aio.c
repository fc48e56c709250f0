/* SPDX-License-Identifier: BSD-3-Clause */
/* Asynchronous I/O: an operation is complete when its result is requested. */
#define _GNU_SOURCE
#include <aio.h>
#include "io.h"

static char bytes[64] = "0123456789abcdefghij";

static void finish(struct aiocb *c)
{
    const struct aiocb *const list[1] = {c};
    while (aio_error(c) == EINPROGRESS) aio_suspend(list, 1, NULL);
}

int main(void)
{
    int fd;
    struct aiocb64 c64 = {.aio_buf = bytes, .aio_nbytes = 4, .aio_offset = 2};
    CALL((fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600)) >= 0, BIG("open") " +data");
    struct aiocb c = {.aio_fildes = fd, .aio_buf = bytes, .aio_nbytes = 20};
    c64.aio_fildes = fd;
    CALL(!aio_write(&c), BIG("aio_write") " @0 w:data:20 issued");
    finish(&c);
    CALL(aio_return(&c) == 20, BIG("aio_return") " data:20");
    c.aio_offset = 15;
    c.aio_nbytes = 10;
    CALL(!aio_read(&c), BIG("aio_read") " @15 r:data:10 issued");
    finish(&c);
    CALL(aio_return(&c) == 5, BIG("aio_return") " data:5");
    CALL(!aio_read64(&c64), "aio_read64 @2 r:data:4 issued");
    finish((struct aiocb *)&c64);
    CALL(aio_return64(&c64) == 4, "aio_return64 data:4");
    CALL(!aio_fsync(O_SYNC, &c), BIG("aio_fsync") " f:data:? issued");
    finish(&c);
    CALL(aio_return(&c) == 0, BIG("aio_return") " data:0");
    struct aiocb first = {.aio_fildes = fd, .aio_buf = bytes, .aio_nbytes = 3, .aio_lio_opcode = LIO_READ};
    struct aiocb second = {.aio_fildes = fd, .aio_buf = bytes + 20, .aio_nbytes = 6, .aio_offset = 20,
                           .aio_lio_opcode = LIO_WRITE};
    struct aiocb *const list[3] = {&first, NULL, &second};
    CALL(!lio_listio(LIO_WAIT, list, 3, NULL), BIG("lio_listio") " @0 r:data:3 @20 w:data:6 issued issued");
    CALL(aio_return(&first) == 3, BIG("aio_return") " data:3");
    CALL(aio_return(&second) == 6, BIG("aio_return") " data:6");
    c.aio_reqprio = -1;
    CALL(aio_read(&c) < 0, BIG("aio_read") " @15 r:data:10 cancelled !%d", EINVAL);
    CALL(aio_cancel(fd, NULL) >= 0, BIG("aio_cancel"));
    CALL(!close(fd), "close -data");
    tell();
    return 0;
}
