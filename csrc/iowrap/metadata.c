/* SPDX-License-Identifier: BSD-3-Clause */
/* Metadata: sizes, names, directories. Most calls record only enter and leave, with errno if they fail. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "iowrap.h"

#define VT_IO_META(symbol, params, args) VT_IO_CALL(symbol, symbol, FILE_IO_METADATA, int, params, args, r < 0)

/* ---- Sizes and space ---- */

VT_IO_META(ftruncate, (int fd, off_t n), (fd, n))
VT_IO_META(ftruncate64, (int fd, off64_t n), (fd, n))
VT_IO_META(truncate, (const char *path, off_t n), (path, n))
VT_IO_META(truncate64, (const char *path, off64_t n), (path, n))
VT_IO_META(fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n))
VT_IO_META(fallocate64, (int fd, int mode, off64_t at, off64_t n), (fd, mode, at, n))

static inline void leave_advice(uint32_t region, int error)
{
    if (error) vt_io_leave_failed(region, error);
    else vt_leave(region);
}

/* These functions return the error number and do not set errno. */
#define VT_IO_ADVICE(symbol, params, args) VT_IO_METADATA(symbol, symbol, int, params, args, leave_advice(region, r))

VT_IO_ADVICE(posix_fallocate, (int fd, off_t at, off_t n), (fd, at, n))
VT_IO_ADVICE(posix_fallocate64, (int fd, off64_t at, off64_t n), (fd, at, n))
VT_IO_ADVICE(posix_fadvise, (int fd, off_t at, off_t n, int advice), (fd, at, n, advice))
VT_IO_ADVICE(posix_fadvise64, (int fd, off64_t at, off64_t n, int advice), (fd, at, n, advice))
VT_IO_CALL(readahead, readahead, FILE_IO_METADATA, ssize_t, (int fd, off64_t at, size_t n), (fd, at, n), r < 0)

/* ---- Attributes of a file ---- */

VT_IO_META(stat, (const char *path, void *to), (path, to))
VT_IO_META(stat64, (const char *path, void *to), (path, to))
VT_IO_META(lstat, (const char *path, void *to), (path, to))
VT_IO_META(lstat64, (const char *path, void *to), (path, to))
VT_IO_META(fstat, (int fd, void *to), (fd, to))
VT_IO_META(fstat64, (int fd, void *to), (fd, to))
VT_IO_META(fstatat, (int at, const char *path, void *to, int flags), (at, path, to, flags))
VT_IO_META(fstatat64, (int at, const char *path, void *to, int flags), (at, path, to, flags))
VT_IO_META(statx, (int at, const char *path, int flags, unsigned mask, void *to), (at, path, flags, mask, to))
VT_IO_META(access, (const char *path, int mode), (path, mode))
VT_IO_META(faccessat, (int at, const char *path, int mode, int flags), (at, path, mode, flags))
VT_IO_META(statfs, (const char *path, void *to), (path, to))
VT_IO_META(statfs64, (const char *path, void *to), (path, to))
VT_IO_META(fstatfs, (int fd, void *to), (fd, to))
VT_IO_META(fstatfs64, (int fd, void *to), (fd, to))
VT_IO_META(statvfs, (const char *path, void *to), (path, to))
VT_IO_META(statvfs64, (const char *path, void *to), (path, to))
VT_IO_META(fstatvfs, (int fd, void *to), (fd, to))
VT_IO_META(fstatvfs64, (int fd, void *to), (fd, to))

/* stat in programs built with glibc before 2.33. */
#define VT_IO_XSTAT(symbol, shown, params, args) VT_IO_CALL(symbol, shown, FILE_IO_METADATA, int, params, args, r < 0)

VT_IO_XSTAT(__xstat, stat, (int version, const char *path, void *to), (version, path, to))
VT_IO_XSTAT(__xstat64, stat64, (int version, const char *path, void *to), (version, path, to))
VT_IO_XSTAT(__lxstat, lstat, (int version, const char *path, void *to), (version, path, to))
VT_IO_XSTAT(__lxstat64, lstat64, (int version, const char *path, void *to), (version, path, to))
VT_IO_XSTAT(__fxstat, fstat, (int version, int fd, void *to), (version, fd, to))
VT_IO_XSTAT(__fxstat64, fstat64, (int version, int fd, void *to), (version, fd, to))
VT_IO_XSTAT(__fxstatat, fstatat, (int version, int at, const char *path, void *to, int flags),
            (version, at, path, to, flags))
VT_IO_XSTAT(__fxstatat64, fstatat64, (int version, int at, const char *path, void *to, int flags),
            (version, at, path, to, flags))

/* ---- Names ---- */

#define VT_IO_RENAME(symbol, params, args)                                                                             \
    VT_IO_DEFINE(symbol, symbol, FILE_IO_METADATA, int, params, args)                                                  \
    {                                                                                                                  \
        vt_io_renames(); /* also if the call is not recorded */                                                        \
        VT_IO_BEGIN(symbol, int, params, args)                                                                         \
        vt_enter_call(region);                                                                                         \
        const int r = VT_IO_NEXT(symbol, int, params) args;                                                            \
        vt_io_leave(region, r < 0);                                                                                    \
        vt_io_renames();                                                                                               \
        return r;                                                                                                      \
    }

VT_IO_RENAME(rename, (const char *from, const char *to), (from, to))
VT_IO_RENAME(renameat, (int from_at, const char *from, int to_at, const char *to), (from_at, from, to_at, to))
VT_IO_RENAME(renameat2, (int from_at, const char *from, int to_at, const char *to, unsigned flags),
             (from_at, from, to_at, to, flags))
VT_IO_META(link, (const char *from, const char *to), (from, to))
VT_IO_META(linkat, (int from_at, const char *from, int to_at, const char *to, int flags),
           (from_at, from, to_at, to, flags))
VT_IO_META(symlink, (const char *content, const char *path), (content, path))
VT_IO_META(symlinkat, (const char *content, int at, const char *path), (content, at, path))
VT_IO_META(mkdir, (const char *path, mode_t mode), (path, mode))
VT_IO_META(mkdirat, (int at, const char *path, mode_t mode), (at, path, mode))
VT_IO_META(rmdir, (const char *path), (path))
VT_IO_META(mkfifo, (const char *path, mode_t mode), (path, mode))
VT_IO_META(mkfifoat, (int at, const char *path, mode_t mode), (at, path, mode))
VT_IO_META(chmod, (const char *path, mode_t mode), (path, mode))
VT_IO_META(fchmod, (int fd, mode_t mode), (fd, mode))
VT_IO_META(fchmodat, (int at, const char *path, mode_t mode, int flags), (at, path, mode, flags))
VT_IO_META(chown, (const char *path, uid_t user, gid_t group), (path, user, group))
VT_IO_META(fchown, (int fd, uid_t user, gid_t group), (fd, user, group))
VT_IO_META(lchown, (const char *path, uid_t user, gid_t group), (path, user, group))
VT_IO_META(fchownat, (int at, const char *path, uid_t user, gid_t group, int flags), (at, path, user, group, flags))
VT_IO_META(futimens, (int fd, const void *times), (fd, times))
VT_IO_CALL(readlink, readlink, FILE_IO_METADATA, ssize_t, (const char *path, char *to, size_t n), (path, to, n), r < 0)
VT_IO_CALL(readlinkat, readlinkat, FILE_IO_METADATA, ssize_t, (int at, const char *path, char *to, size_t n),
           (at, path, to, n), r < 0)
VT_IO_CALL(__readlink_chk, readlink, FILE_IO_METADATA, ssize_t, (const char *path, char *to, size_t n, size_t room),
           (path, to, n, room), r < 0)
VT_IO_CALL(__readlinkat_chk, readlinkat, FILE_IO_METADATA, ssize_t,
           (int at, const char *path, char *to, size_t n, size_t room), (at, path, to, n, room), r < 0)

/* ---- Removing files. The paradigm of remove is ISO C, that of the others POSIX. Directories are no files. ---- */

static void leave_removed(uint32_t region, int directory, const char *path, enum vt_io_paradigm paradigm, int r)
{
    struct vt_io_batch batch = {0};
    const int error = r < 0 ? errno : 0;
    const uint32_t file = error || !path ? 0 : vt_io_file(directory, path);
    if (file) {
        uint64_t *words = vt_io_add(&batch, 2);
        words[0] = VT_HEAD(VT_K_IO_DELETE, 1, file);
        words[1] = paradigm;
    }
    vt_io_finish(&batch, region, error);
}

#define VT_IO_REMOVE(symbol, params, args, directory, path, paradigm)                                                  \
    VT_IO_METADATA(symbol, symbol, int, params, args, leave_removed(region, directory, path, paradigm, r))

VT_IO_REMOVE(unlink, (const char *path), (path), AT_FDCWD, path, VT_IO_POSIX)
VT_IO_REMOVE(unlinkat, (int at, const char *path, int flags), (at, path, flags), at, flags &AT_REMOVEDIR ? NULL : path,
             VT_IO_POSIX)
VT_IO_REMOVE(remove, (const char *path), (path), AT_FDCWD, path, VT_IO_ISOC)

/* ---- Directories. Each has a descriptor of its own. ---- */

static void leave_opendir(uint32_t region, DIR *r, const char *path)
{
    struct vt_io_batch batch = {0};
    const int error = r ? 0 : errno;
    if (r) vt_io_opened(&batch, dirfd(r), AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    vt_io_finish(&batch, region, error);
}

VT_IO_METADATA(opendir, opendir, DIR *, (const char *path), (path), leave_opendir(region, r, path))

VT_IO_CALL(fdopendir, fdopendir, FILE_IO_METADATA, DIR *, (int fd), (fd), !r)

VT_IO_DEFINE(closedir, closedir, FILE_IO_METADATA, int, (DIR * d), (d))
{
    VT_IO_BEGIN(closedir, int, (DIR *), (d))
    vt_enter_call(region);
    struct vt_io_batch batch = {0};
    const uint64_t known = d ? vt_io_take(dirfd(d)) : 0;
    const int r = VT_IO_NEXT(closedir, int, (DIR *))(d);
    const int error = r < 0 ? errno : 0;
    vt_io_closed(&batch, known);
    vt_io_finish(&batch, region, error);
    return r;
}

/* NULL at the end of the directory, too. */
VT_IO_CALL(readdir, readdir, FILE_IO_METADATA, void *, (DIR * d), (d), false)
VT_IO_CALL(readdir64, readdir64, FILE_IO_METADATA, void *, (DIR * d), (d), false)
VT_IO_ADVICE(readdir_r, (DIR * d, void *to, void **result), (d, to, result))
VT_IO_ADVICE(readdir64_r, (DIR * d, void *to, void **result), (d, to, result))
VT_IO_CALL(getdents64, getdents64, FILE_IO_METADATA, ssize_t, (int fd, void *to, size_t n), (fd, to, n), r < 0)

VT_IO_DEFINE(rewinddir, rewinddir, FILE_IO_METADATA, void, (DIR * d), (d))
{
    VT_IO_BEGIN(rewinddir, void, (DIR *), (d))
    vt_enter_call(region);
    VT_IO_NEXT(rewinddir, void, (DIR *))(d);
    vt_leave(region);
}
