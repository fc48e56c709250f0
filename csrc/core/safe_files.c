/* SPDX-License-Identifier: BSD-3-Clause */
/* Files in directories where other users may create files, too. A name that vtrace wants may be a symbolic link, a hard link
   or a FIFO of another user, before the program starts or while it runs: nothing of theirs is written or replaced. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include "safe_files.h"
#include "sys.h"
#include "text.h"

/* Above the descriptors that a program's own opens get: were ours closed by the program, a number that low could mean a
   file of its own by the time we write. */
#define DESCRIPTOR 700

static int is_path(long fd)
{
    long flags = VT_SYS2(fcntl, fd, F_GETFL);
    return flags >= 0 && flags & O_PATH;
}

static int is_file(long fd, const struct stat *file)
{
    struct stat s;
    return VT_SYS2(fstat, fd, &s) >= 0 && s.st_ino == file->st_ino && s.st_dev == file->st_dev;
}

/* Moves a descriptor up. Another thread of the program may have closed it and have got its number for a file of its own:
   that is neither written nor, as far as can be seen, closed. */
static long move_up(long fd, const char *path, int flags)
{
    struct stat named;
    long above = VT_SYS3(fcntl, fd, F_DUPFD_CLOEXEC, DESCRIPTOR);
    if (above < 0) return fd; /* the program may not have so many */
    if ((flags & O_ACCMODE) != O_RDONLY) {
        if (VT_SYS4(newfstatat, AT_FDCWD, path, &named, 0) < 0 || !is_file(above, &named)) {
            VT_SYS1(close, above);
            return -EBADF;
        }
        if (!is_file(fd, &named)) return above;
    }
    VT_SYS1(close, fd);
    return above;
}

/* Opens a file for a moment. Never as 0, 1 or 2, even where the program has closed these: what it prints would go into
   our file. Meanwhile they are taken by descriptors that can be written as little as closed ones. */
long vt_open(const char *path, int flags, int mode)
{
    long taken[3] = {-1, -1, -1}, fd;
    for (int i = 0; i < 3; i++)
        if (VT_SYS2(fcntl, i, F_GETFD) < 0) taken[i] = VT_SYS4(openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0);
    fd = VT_SYS4(openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
    for (int i = 0; i < 3; i++)
        if (taken[i] >= 0 && is_path(taken[i])) VT_SYS1(close, taken[i]);
    return fd < 0 ? fd : move_up(fd, path, flags);
}

static long look(const char *path, struct stat *s)
{
    return VT_SYS4(newfstatat, AT_FDCWD, path, s, AT_SYMLINK_NOFOLLOW);
}

static int is_same(const struct stat *s, const struct vt_identity *file)
{
    return s->st_ino == file->inode && s->st_dev == file->device && s->st_uid == file->owner;
}

/* The owner of files that this process creates: a network file system may give them to another user than the process's. */
static uint32_t own_user(void)
{
    const struct vt_identity *first = &vt_scratch.made[VT_DEFINITIONS];
    return first->inode ? first->owner : (uint32_t)VT_SYS0(geteuid);
}

static int is_own(const struct stat *s) { return s->st_uid == own_user() || s->st_uid == (uint32_t)VT_SYS0(geteuid); }

int vt_is_foreign(const char *path)
{
    struct stat s;
    return look(path, &s) >= 0 && !is_own(&s);
}

/* A new file, open for reading and writing. -EEXIST: the name is taken, by whatever. */
long vt_create(const char *path, int mode, struct vt_identity *made)
{
    struct stat s;
    long fd = vt_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    if (fd < 0) return fd;
    long r = VT_SYS2(fstat, fd, &s);
    if (r < 0) {
        VT_SYS1(close, fd);
        return r;
    }
    *made = (struct vt_identity){s.st_dev, s.st_ino, s.st_uid};
    return fd;
}

/* The same for a temporary name: what a killed process of this user left there goes. */
long vt_create_temporary(const char *path, struct vt_identity *made)
{
    long fd = vt_create(path, 0666, made);
    if (fd != -EEXIST || vt_is_foreign(path)) return fd;
    long r = VT_SYS3(unlinkat, AT_FDCWD, path, 0);
    return r < 0 ? r : vt_create(path, 0666, made);
}

/* Opens a file that vt_create has made. -ESTALE: another one has its name. */
long vt_reopen(const char *path, int flags, const struct vt_identity *made)
{
    struct stat s;
    long fd = vt_open(path, flags | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0) return fd;
    long r = VT_SYS2(fstat, fd, &s);
    if (r >= 0 && is_same(&s, made)) return fd;
    VT_SYS1(close, fd);
    return r < 0 ? r : -ESTALE;
}

/* Renames a file that vt_create has made; replaces this user's files only. */
long vt_replace(const char *from, const char *to, const struct vt_identity *made)
{
    struct stat s;
    long r = look(from, &s);
    if (r < 0) return r;
    if (!is_same(&s, made)) return -ESTALE;
    if (look(to, &s) >= 0 && s.st_uid != made->owner && !is_own(&s)) return -EEXIST;
    return VT_SYS4(renameat, AT_FDCWD, from, AT_FDCWD, to);
}

/* Opens a regular file for reading whose name another user may have taken: a FIFO would keep the program waiting. */
long vt_open_plain(const char *path, struct stat *s)
{
    long fd = vt_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0) return fd;
    long r = VT_SYS2(fstat, fd, s);
    if (r >= 0 && S_ISREG(s->st_mode)) return fd;
    VT_SYS1(close, fd);
    return r < 0 ? r : -ESTALE;
}

/* A small file, zero-terminated: bytes read or -errno. */
long vt_read_plain(const char *path, char *into, size_t bytes)
{
    struct stat s;
    long fd = vt_open_plain(path, &s), n;
    into[0] = 0;
    if (fd < 0) return fd;
    n = VT_SYS4(pread64, fd, into, bytes - 1, 0);
    VT_SYS1(close, fd);
    into[n > 0 ? n : 0] = 0;
    return n;
}

/* Writes a small file under a temporary name, PATH.tmpPID in `temporary`, and renames it. 0 or -errno. */
long vt_put_file(const char *path, char *temporary, const char *text)
{
    struct vt_identity made;
    struct vt_text t = vt_text_into(temporary, VT_PATH);
    vt_text_add(&t, path);
    vt_text_add(&t, ".tmp");
    vt_text_dec(&t, vt_process.pid);
    long length = (long)strlen(text), fd = vt_create_temporary(temporary, &made);
    if (fd < 0) return fd;
    long r = VT_SYS3(write, fd, text, length);
    VT_SYS1(close, fd);
    if (r >= 0) r = r == length ? vt_replace(temporary, path, &made) : -ENOSPC;
    if (r < 0) VT_SYS3(unlinkat, AT_FDCWD, temporary, 0);
    return r;
}

/* 1: the file belongs to this user, to root, or to the owner of the directory around it. */
static int is_trusted(const struct stat *s, const char *around)
{
    struct stat a;
    if (s->st_uid == (uint32_t)VT_SYS0(geteuid) || !s->st_uid) return 1;
    return VT_SYS4(newfstatat, AT_FDCWD, around, &a, 0) >= 0 && a.st_uid == s->st_uid;
}

/* 1: another user has put a directory, or a link to one, where this process would have made its own. In it the other user
   decides about each name. Directories of a group this process writes by, and sticky ones, are shared on purpose. */
int vt_is_strangers_directory(const char *path)
{
    static char around[VT_PATH];
    struct stat s;
    struct vt_text t = vt_text_into(around, sizeof around);
    vt_text_add(&t, path);
    char *slash = strrchr(around, '/');
    if (slash) slash[slash == around] = 0;
    if (look(path, &s) < 0) return 0;
    if (S_ISLNK(s.st_mode)) {
        if (!is_trusted(&s, around) || VT_SYS4(newfstatat, AT_FDCWD, path, &s, 0) < 0) return 1;
    }
    t = vt_text_into(around, sizeof around);
    vt_text_add(&t, path);
    vt_text_add(&t, "/..");
    if (is_trusted(&s, around) || s.st_mode & S_ISVTX) return 0;
    int by_group = (s.st_mode & (S_IWGRP | S_IWOTH)) == S_IWGRP;
    return !by_group || (!VT_SYS0(geteuid) && s.st_gid != (uint32_t)VT_SYS0(getegid));
}

long vt_read_file(const char *path, char *into, size_t bytes)
{
    long fd = vt_open(path, O_RDONLY, 0), n = 0, got = 0;
    if (fd < 0) return fd;
    while ((size_t)n < bytes - 1 && (got = VT_SYS3(read, fd, into + n, bytes - 1 - (size_t)n)) > 0) n += got;
    VT_SYS1(close, fd);
    into[n] = 0;
    return n ? n : got;
}
