/* SPDX-License-Identifier: BSD-3-Clause */
/* Closes all descriptors, also the standard ones, as daemons do. Then opens other files, which get their numbers. */
#define _GNU_SOURCE
#include <sys/resource.h>
#include "io.h"

int main(void)
{
    char c;
    int told_to = fcntl(9, F_GETFD) < 0 ? -1 : 9;
    call(BIG("fcntl"));
    for (int fd = 0; fd < 64; fd++) {
        if (fd == told_to) continue;
        if (!close(fd)) call("close%s", fd == 0 ? " -stdin -stdin" : fd == 1 ? " -stdout -stdout" : fd == 2 ?
                             " -stderr -stderr" : "");
        else call("close !%d", EBADF);
    }
    CALL(open("zero", O_RDWR | O_CREAT, 0600) == 0, BIG("open") " +zero");
    CALL(open("one", O_RDWR | O_CREAT, 0600) == 1, BIG("open") " +one");
    CALL(write(1, "abc", 3) == 3, "write w:one:3:3");
    CALL(read(0, &c, 1) == 0, "read r:zero:1:0");
    CALL(puts("text") >= 0, "puts w:one:5:5"); /* libc's stdout still uses 1 */
    CALL(!fflush(stdout), "fflush f:one:?:?");
    struct rlimit most; /* a large number, in another part of the table */
    MUST(!getrlimit(RLIMIT_NOFILE, &most));
    most.rlim_cur = most.rlim_max < 5001 ? most.rlim_max : 5001;
    MUST(!setrlimit(RLIMIT_NOFILE, &most));
    int far = (int)most.rlim_cur - 1;
    CALL(dup2(0, far) == far, "dup2 zero=zero");
    CALL(write(far, "far", 3) == 3, "write w:zero:3:3");
    call("closefrom -zero"), closefrom(10);
    tell();
    return 0;
}
