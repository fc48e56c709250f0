/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens and creates files in directories where other users may create files, too. A name that vtrace wants may be a
   symbolic link, a hard link or a FIFO of another user, before the program starts or while it runs. vtrace does not
   write or replace files of other users. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include "system.h"

/* vtrace uses descriptors above those that the program's own opens return. The program may close a descriptor of
   vtrace; a low number could then belong to a file of the program when vtrace writes. */
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

/* Moves a descriptor to a high number. Another thread of the program may close the descriptor meanwhile and get its
   number for a file of the program. vtrace does not read or write that file and, as far as it can detect the case, does
   not close it. */
static long move_up(long fd, const char *path, int flags)
{
    const int reads = (flags & O_ACCMODE) == O_RDONLY;
    struct stat file;
    const long is_known = reads ? VT_SYS2(fstat, fd, &file) : VT_SYS4(newfstatat, AT_FDCWD, path, &file, 0);
    const long above = VT_SYS3(fcntl, fd, F_DUPFD_CLOEXEC, DESCRIPTOR);
    if (above == -EBADF) return above;
    if (above < 0) return fd; /* the limit on descriptors of the program is lower */
    if (is_known < 0 || !is_file(above, &file)) {
        VT_SYS1(close, above);
        return -EBADF;
    }
    if (is_file(fd, &file)) VT_SYS1(close, fd);
    return above;
}

/* Opens a file for a short time. Descriptors 0, 1 and 2 are not used, even if the program has closed them: its output
   would go into the file of vtrace. During the open, closed ones are replaced by O_PATH descriptors, to which the
   program cannot write. */
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

/* Returns the owner of files that this process creates. On a network file system the owner may differ from the user of
   the process. */
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

/* Creates a file, open for reading and writing. Returns -EEXIST if the name exists. */
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

/* Like vt_create, for a temporary name: first removes a file of this user with that name, which a killed process may
   have left. */
long vt_create_temporary(const char *path, struct vt_identity *made)
{
    long fd = vt_create(path, 0666, made);
    if (fd != -EEXIST || vt_is_foreign(path)) return fd;
    long r = VT_SYS3(unlinkat, AT_FDCWD, path, 0);
    return r < 0 ? r : vt_create(path, 0666, made);
}

/* Opens a file that vt_create created. Returns -ESTALE if another file has its name. */
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

/* Renames a file that vt_create created. Replaces files of this user only. */
long vt_replace(const char *from, const char *to, const struct vt_identity *made)
{
    struct stat s;
    long r = look(from, &s);
    if (r < 0) return r;
    if (!is_same(&s, made)) return -ESTALE;
    if (look(to, &s) >= 0 && s.st_uid != made->owner && !is_own(&s)) return -EEXIST;
    return VT_SYS4(renameat, AT_FDCWD, from, AT_FDCWD, to);
}

/* Opens a regular file for reading; another user may own the name. O_NONBLOCK: the open of a FIFO would block the
   program. */
long vt_open_plain(const char *path, struct stat *s)
{
    long fd = vt_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0) return fd;
    long r = VT_SYS2(fstat, fd, s);
    if (r >= 0 && S_ISREG(s->st_mode)) return fd;
    VT_SYS1(close, fd);
    return r < 0 ? r : -ESTALE;
}

/* Reads a small file into a zero-terminated string. Returns the bytes read or -errno. */
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

/* Writes a small file under a temporary name, PATH.tmpPID in `temporary`, and renames it to PATH. Returns 0 or
   -errno. */
long vt_put_file(const char *path, char *temporary, const char *text)
{
    struct vt_identity made;
    struct vt_text t = vt_text_into(temporary, VT_PATH);
    vt_text_add(&t, path, ".tmp");
    vt_text_dec(&t, vt_process.pid);
    long length = (long)strlen(text), fd = vt_create_temporary(temporary, &made);
    if (fd < 0) return fd;
    long r = vt_written(VT_SYS3(write, fd, text, length));
    VT_SYS1(close, fd);
    if (r >= 0) r = r == length ? vt_replace(temporary, path, &made) : -ENOSPC;
    if (r < 0) VT_SYS3(unlinkat, AT_FDCWD, temporary, 0);
    return r;
}

/* Returns 1 if the file belongs to this user, to root, or to the owner of the directory `around`. */
static int is_trusted(const struct stat *s, const char *around)
{
    struct stat a;
    if (s->st_uid == (uint32_t)VT_SYS0(geteuid) || !s->st_uid) return 1;
    return VT_SYS4(newfstatat, AT_FDCWD, around, &a, 0) >= 0 && a.st_uid == s->st_uid;
}

/* Returns 1 if another user has created a directory, or a link to one, where this process would have created its own.
   In such a directory the other user controls each name. Sticky directories, and directories that a group of this
   process may write, count as shared on purpose. */
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
    vt_text_add(&t, path, "/..");
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

void vt_executable(char *into, size_t bytes)
{
    long n = VT_SYS4(readlinkat, AT_FDCWD, "/proc/self/exe", into, bytes - 1);
    if (n <= 0) /* the main thread has ended */
        n = VT_SYS4(readlinkat, AT_FDCWD, "/proc/thread-self/exe", into, bytes - 1);
    into[n > 0 ? n : 0] = 0;
    const char *started = (const char *)getauxval(AT_EXECFN);
    if (n > 0 || !started) return;
    struct vt_text t = vt_text_into(into, bytes);
    if (*started != '/' && VT_SYS2(getcwd, into, bytes) > 0) {
        t.at = into + strlen(into);
        vt_text_add(&t, "/");
    }
    vt_text_add(&t, started);
}
