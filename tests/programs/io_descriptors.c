/* SPDX-License-Identifier: BSD-3-Clause */
/* Each call on descriptors, with its expected records. */
#define _GNU_SOURCE
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include "io.h"

static volatile size_t size = 10; /* unknown to the compiler: fortified calls check it at run time */
static char bytes[64] = "0123456789abcdefghijklmnopqrstuvwxyz";

static void opening(void)
{
    int fd;
    CALL((fd = open("one", O_RDWR | O_CREAT | O_TRUNC, 0600)) >= 0, BIG("open") " +one");
    CALL(!close(fd), "close -one");
    CALL((fd = open64("one", O_RDONLY)) >= 0, "open64 +one");
    CALL(!close(fd), "close -one");
    CALL((fd = openat(AT_FDCWD, "./one", O_RDONLY)) >= 0, BIG("openat") " +one");
    CALL(!close(fd), "close -one");
    CALL((fd = openat64(AT_FDCWD, "one", O_RDONLY)) >= 0, "openat64 +one");
    CALL(!close(fd), "close -one");
    CALL((fd = creat("two", 0600)) >= 0, BIG("creat") " +two");
    CALL(!close(fd), "close -two");
    CALL((fd = creat64("two", 0600)) >= 0, "creat64 +two");
    CALL(!close(fd), "close -two");
    CALL(open("none/there", O_RDONLY) < 0, BIG("open") " !%d", ENOENT);
    CALL(close(999) < 0, "close !%d", EBADF);
    char name[] = "made-XXXXXX";
    CALL((fd = mkstemp(name)) >= 0, BIG("mkstemp") " +%s", name);
    CALL(!close(fd), "close -%s", name);
    CALL(!unlink(name), "unlink x:%s", name);
    CALL(unlink(name) < 0, "unlink !%d", ENOENT);
    CALL((fd = memfd_create("mine", 0)) >= 0, "memfd_create +memfd:mine (deleted)");
    CALL(!close(fd), "close -memfd:mine (deleted)");
}

static void reading(int fd)
{
    struct iovec parts[2] = {{bytes, 3}, {bytes + 3, 4}};
    CALL(write(fd, bytes, 36) == 36, "write w:data:36:36");
    CALL(lseek(fd, 30, SEEK_SET) == 30, BIG("lseek") " data@30");
    CALL(read(fd, bytes, size) == 6, "read r:data:10:6");
    CALL(read(fd, bytes, size) == 0, "read r:data:10:0");
    CALL(lseek64(fd, -36, SEEK_END) == 0, "lseek64 data@0");
    CALL(readv(fd, parts, 2) == 7, "readv r:data:7:7");
    CALL(writev(fd, parts, 2) == 7, "writev w:data:7:7");
    CALL(lseek(fd, -200, SEEK_SET) < 0, BIG("lseek") " !%d", EINVAL);
    CALL(pread(fd, bytes, size, 30) == 6, BIG("pread") " @30 r:data:10:6");
    CALL(pread64(fd, bytes, size, 20) == 10, "pread64 @20 r:data:10:10");
    CALL(pwrite(fd, bytes, 5, 40) == 5, BIG("pwrite") " @40 w:data:5:5");
    CALL(pwrite64(fd, bytes, 4, 45) == 4, "pwrite64 @45 w:data:4:4");
    CALL(preadv(fd, parts, 2, 45) == 4, BIG("preadv") " @45 r:data:7:4");
    CALL(pwritev(fd, parts, 2, 49) == 7, BIG("pwritev") " @49 w:data:7:7");
    CALL(preadv2(fd, parts, 1, 0, 0) == 3, "%s @0 r:data:3:3", sizeof BIG("") > 1 ? "preadv64v2" : "preadv2");
    CALL(pwritev2(fd, parts, 1, 0, 0) == 3, "%s @0 w:data:3:3", sizeof BIG("") > 1 ? "pwritev64v2" : "pwritev2");
    CALL(write(fd, NULL, 5) < 0, "write w:data:5:0 !%d", EFAULT);
    CALL(readv(fd, (struct iovec *)8, 2) < 0, "readv r:data:?:0 !%d", EFAULT);
    CALL(writev(fd, NULL, 1) < 0, "writev w:data:?:0 !%d", EFAULT);
    CALL(read(999, bytes, 5) < 0, "read !%d", EBADF);
}

static void copying(int fd)
{
    int ends[2], to;
    off64_t at = 0;
    CALL((to = open("copy", O_RDWR | O_CREAT, 0600)) >= 0, BIG("open") " +copy");
    CALL(sendfile64(to, fd, &at, 12) == 12, "sendfile64 r:data:12:12 w:copy:12:12");
    at = 50;
    ssize_t copied = copy_file_range(fd, &at, to, NULL, 99, 0);
    if (copied < 0) call("copy_file_range r:data:99:0 w:copy:99:0 !%d", errno);
    else call("copy_file_range r:data:99:%zd w:copy:99:%zd", copied, copied);
    CALL(!pipe(ends), "pipe +pipe +pipe");
    at = 0;
    CALL(splice(fd, &at, ends[1], NULL, 8, 0) == 8, "splice r:data:8:8 w:pipe:8:8");
    CALL(read(ends[0], bytes, size) == 8, "read r:pipe:10:8");
    CALL(!close(ends[0]), "close -pipe");
    CALL(!close(ends[1]), "close -pipe");
    CALL(!pipe2(ends, O_CLOEXEC), "pipe2 +pipe +pipe");
    CALL(!fsync(to), "fsync f:copy:?:?");
    CALL(!fdatasync(to), "fdatasync f:copy:?:?");
    CALL(fsync(ends[0]) < 0, "fsync f:pipe:?:0 !%d", EINVAL);
    MUST(to < ends[0] && ends[0] < ends[1] && ends[1] < 9);
    CALL(!close_range((unsigned)to, (unsigned)ends[1], 0), "close_range -copy -pipe -pipe");
}

static void duplicating(int fd)
{
    int a, b;
    CALL((a = dup(fd)) >= 0, "dup data=data");
    CALL((b = open("one", O_RDONLY)) >= 0, BIG("open") " +one");
    CALL(dup2(a, b) == b, "dup2 -one data=data");
    CALL(dup2(b, b) == b, "dup2");
    CALL(dup2(999, b) < 0, "dup2 !%d", EBADF);
    CALL(read(b, bytes, 0) == 0, "read r:data:0:0");
    CALL(dup3(fd, b, O_CLOEXEC) == b, "dup3 -data data=data");
    CALL(!close(b), "close -data");
    CALL((b = fcntl(fd, F_DUPFD, 20)) == 20, BIG("fcntl") " data=data");
    CALL(fcntl(b, F_SETFL, O_APPEND | O_NONBLOCK) == 0, BIG("fcntl") " S:data:APPEND|NON_BLOCKING");
    CALL(fcntl(b, F_GETFD) == 0, BIG("fcntl"));
    CALL(fcntl(b, F_SETFL, 0) == 0, BIG("fcntl") " S:data:NONE");
    CALL(!close(b), "close -data");
    CALL(!close(a), "close -data");
}

static void locking(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int other;
    CALL(!lockf(fd, F_LOCK, 10), BIG("lockf") " L:data");
    CALL(!lockf(fd, F_TEST, 10), BIG("lockf"));
    CALL(!lockf(fd, F_ULOCK, 10), BIG("lockf") " U:data");
    CALL(!lockf64(fd, F_TLOCK, 10), "lockf64 L:data");
    CALL(!fcntl(fd, F_SETLKW, &lock), BIG("fcntl") " L:data");
    lock.l_type = F_UNLCK;
    CALL(!fcntl(fd, F_SETLK, &lock), BIG("fcntl") " U:data");
    CALL((other = open("data", O_RDONLY)) >= 0, BIG("open") " +data");
    CALL(!flock(other, LOCK_SH), "flock L:data:SHARED");
    CALL(flock(fd, LOCK_EX | LOCK_NB) < 0, "flock T:data !%d", EWOULDBLOCK);
    CALL(!flock(other, LOCK_UN), "flock U:data");
    CALL(!close(other), "close -data");
}

static void sizes(int fd)
{
    void *p;
    CALL(!ftruncate(fd, 4096), BIG("ftruncate"));
    CALL(!truncate("data", 8192), BIG("truncate"));
    CALL(!posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL), BIG("posix_fadvise"));
    CALL(posix_fadvise(999, 0, 0, POSIX_FADV_NORMAL) == EBADF, BIG("posix_fadvise") " !%d", EBADF);
    CALL(!posix_fallocate(fd, 0, 8192), BIG("posix_fallocate"));
    CALL((p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) != MAP_FAILED, BIG("mmap"));
    CALL(!msync(p, 8192, MS_SYNC), "msync");
    CALL(!munmap(p, 8192), "munmap");
    MUST((p = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED);
    MUST(!munmap(p, 8192)); /* memory is no file */
}

int main(void)
{
    int fd;
    opening();
    CALL((fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600)) >= 0, BIG("open") " +data");
    reading(fd);
    copying(fd);
    duplicating(fd);
    locking(fd);
    sizes(fd);
    CALL(!close(fd), "close -data");
    CALL(write(1, "done\n", 5) == 5, "write w:stdout:5:5");
    tell();
    return 0;
}
