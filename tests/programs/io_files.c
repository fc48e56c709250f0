/* SPDX-License-Identifier: BSD-3-Clause */
/* Each call on files by name, and on directories, with its expected records. */
#define _GNU_SOURCE
#include <dirent.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include "io.h"

static void looking(int fd)
{
    struct stat s;
    struct stat64 s64;
    struct statx x;
    struct statfs f;
    struct statvfs v;
    char name[100];
    CALL(!stat("file", &s), BIG("stat"));
    CALL(!stat64("file", &s64), "stat64");
    CALL(!lstat("file", &s), BIG("lstat"));
    CALL(!lstat64("file", &s64), "lstat64");
    CALL(!fstat(fd, &s), BIG("fstat"));
    CALL(!fstat64(fd, &s64), "fstat64");
    CALL(!fstatat(AT_FDCWD, "file", &s, 0), BIG("fstatat"));
    CALL(!fstatat64(AT_FDCWD, "file", &s64, 0), "fstatat64");
    CALL(!statx(AT_FDCWD, "file", 0, STATX_SIZE, &x), "statx");
    CALL(!access("file", R_OK), "access");
    CALL(access("none", R_OK) < 0, "access !%d", ENOENT);
    CALL(!faccessat(AT_FDCWD, "file", R_OK, 0), "faccessat");
    CALL(!statfs(".", &f), BIG("statfs"));
    CALL(!fstatfs(fd, &f), BIG("fstatfs"));
    CALL(!statvfs(".", &v), BIG("statvfs"));
    CALL(!fstatvfs(fd, &v), BIG("fstatvfs"));
    CALL(!symlink("file", "link"), "symlink");
    CALL(readlink("link", name, sizeof name) == 4, "readlink");
    CALL(readlinkat(AT_FDCWD, "link", name, sizeof name) == 4, "readlinkat");
    CALL(!unlink("link"), "unlink x:link");
    CALL(!symlinkat("file", AT_FDCWD, "link"), "symlinkat");
    CALL(!unlinkat(AT_FDCWD, "link", 0), "unlinkat x:link");
    CALL(stat("none", &s) < 0, BIG("stat") " !%d", ENOENT);
}

static void naming(int fd)
{
    CALL(!rename("file", "file2"), "rename");
    CALL(!renameat(AT_FDCWD, "file2", AT_FDCWD, "file"), "renameat");
    CALL(!renameat2(AT_FDCWD, "file", AT_FDCWD, "file2", 0), "renameat2");
    CALL(!link("file2", "file"), "link");
    CALL(!unlink("./file2"), "unlink x:file2");
    CALL(!linkat(AT_FDCWD, "file", AT_FDCWD, "file3", 0), "linkat");
    CALL(!remove("file3"), "remove x:file3");
    CALL(!mkfifo("fifo", 0600), "mkfifo");
    CALL(!unlink("fifo"), "unlink x:fifo");
    CALL(!mkfifoat(AT_FDCWD, "fifo", 0600), "mkfifoat");
    CALL(!remove("fifo"), "remove x:fifo");
    CALL(!chmod("file", 0600), "chmod");
    CALL(!fchmod(fd, 0600), "fchmod");
    CALL(!fchmodat(AT_FDCWD, "file", 0600, 0), "fchmodat");
    CALL(!chown("file", (uid_t)-1, (gid_t)-1), "chown");
    CALL(!fchown(fd, (uid_t)-1, (gid_t)-1), "fchown");
    CALL(!lchown("file", (uid_t)-1, (gid_t)-1), "lchown");
    CALL(!fchownat(AT_FDCWD, "file", (uid_t)-1, (gid_t)-1, 0), "fchownat");
    CALL(!futimens(fd, NULL), "futimens");
}

/* Paths are correct after chdir and with descriptors of directories. */
static void directories(void)
{
    DIR *d;
    struct dirent *e;
    int at, fd, entries = 0;
    CALL(!mkdir("dir", 0700), "mkdir");
    CALL(!mkdirat(AT_FDCWD, "dir/below", 0700), "mkdirat");
    CALL((at = open("dir", O_RDONLY | O_DIRECTORY)) >= 0, BIG("open") " +dir");
    CALL((fd = openat(at, "inner", O_WRONLY | O_CREAT, 0600)) >= 0, BIG("openat") " +inner");
    CALL(!close(fd), "close -inner");
    MUST(!chdir("dir"));
    CALL((fd = open("inner", O_RDONLY)) >= 0, BIG("open") " +inner");
    CALL(!close(fd), "close -inner");
    CALL(!unlink("inner"), "unlink x:inner");
    MUST(!chdir(".."));
    CALL(d = opendir("dir"), "opendir +dir");
    while ((e = readdir(d))) entries++, call(BIG("readdir"));
    call(BIG("readdir"));
    MUST(entries == 3);
    call("rewinddir"), rewinddir(d);
    CALL(readdir64(d), "readdir64");
    CALL(!closedir(d), "closedir -dir");
    CALL(d = fdopendir(at), "fdopendir");
    CALL(!closedir(d), "closedir -dir");
    CALL(!opendir("none"), "opendir !%d", ENOENT);
    CALL(!unlinkat(AT_FDCWD, "dir/below", AT_REMOVEDIR), "unlinkat");
    CALL(!rmdir("dir"), "rmdir");
    CALL(rmdir("dir") < 0, "rmdir !%d", ENOENT);
}

int main(void)
{
    int fd;
    CALL((fd = open("file", O_RDWR | O_CREAT, 0600)) >= 0, BIG("open") " +file");
    looking(fd);
    naming(fd);
    directories();
    CALL(!close(fd), "close -file");
    CALL(!unlink("file"), "unlink x:file");
    tell();
    return 0;
}
