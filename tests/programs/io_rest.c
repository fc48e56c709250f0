/* SPDX-License-Identifier: BSD-3-Clause */
/* Other names of functions, which headers, compilers and old programs use, and rarer functions. Only for programs that
   vtrace-cc links: libc keeps some of these names for old programs only. */
#define _GNU_SOURCE
#include <aio.h>
#include <dirent.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include "io.h"

/* other: a second name of the function. */
#define NAMED(function, other) extern __typeof__(function) as_##other __asm__(#other);

NAMED(fopen, _IO_fopen) NAMED(fclose, _IO_fclose) NAMED(fdopen, _IO_fdopen) NAMED(fflush, _IO_fflush)
NAMED(fgets, _IO_fgets) NAMED(flockfile, _IO_flockfile) NAMED(funlockfile, _IO_funlockfile)
NAMED(ftrylockfile, _IO_ftrylockfile) NAMED(fprintf, _IO_fprintf) NAMED(fputs, _IO_fputs) NAMED(fread, _IO_fread)
NAMED(fwrite, _IO_fwrite) NAMED(popen, _IO_popen) NAMED(printf, _IO_printf) NAMED(puts, _IO_puts)
NAMED(setvbuf, _IO_setvbuf) NAMED(ungetc, _IO_ungetc) NAMED(vfprintf, _IO_vfprintf) NAMED(vfscanf, __vfscanf)
NAMED(open, __open) NAMED(open64, __open64) NAMED(close, __close) NAMED(read, __read) NAMED(write, __write)
NAMED(lseek, __lseek) NAMED(pread64, __pread64) NAMED(pwrite64, __pwrite64) NAMED(dup2, __dup2) NAMED(fcntl, __fcntl)
NAMED(pipe, __pipe) NAMED(mmap, __mmap) NAMED(munmap, __munmap) NAMED(socket, __socket) NAMED(connect, __connect)
NAMED(send, __send) NAMED(recv, __recv) NAMED(sendmmsg, __sendmmsg) NAMED(fcntl, fcntl64)
NAMED(scanf, scanf) NAMED(fscanf, fscanf) NAMED(vscanf, vscanf) NAMED(vfscanf, vfscanf)
NAMED(vscanf, __isoc99_vscanf) NAMED(vfscanf, __isoc99_vfscanf)
extern char *as__IO_gets(char *to) __asm__("_IO_gets");
extern int __open_2(const char *, int), __open64_2(const char *, int), __openat_2(int, const char *, int);
extern int __openat64_2(int, const char *, int);
extern int __xstat(int, const char *, void *), __xstat64(int, const char *, void *), __lxstat(int, const char *, void *);
extern int __lxstat64(int, const char *, void *), __fxstat(int, int, void *), __fxstat64(int, int, void *);
extern int __fxstatat(int, int, const char *, void *, int), __fxstatat64(int, int, const char *, void *, int);
extern ssize_t __read_chk(int, void *, size_t, size_t), __pread_chk(int, void *, size_t, off_t, size_t);
extern ssize_t __pread64_chk(int, void *, size_t, off64_t, size_t), __recv_chk(int, void *, size_t, size_t, int);
extern ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, void *, void *);
extern ssize_t __readlink_chk(const char *, char *, size_t, size_t);
extern ssize_t __readlinkat_chk(int, const char *, char *, size_t, size_t);
extern char *__fgets_chk(char *, size_t, int, FILE *), *__fgets_unlocked_chk(char *, size_t, int, FILE *);
extern char *__gets_chk(char *, size_t);
extern size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
extern size_t __fread_unlocked_chk(void *, size_t, size_t, size_t, FILE *);
extern ssize_t __getdelim(char **, size_t *, int, FILE *);
extern int __printf_chk(int, const char *, ...), __fprintf_chk(FILE *, int, const char *, ...);
extern int __dprintf_chk(int, int, const char *, ...), __vprintf_chk(int, const char *, va_list);
extern int __vfprintf_chk(FILE *, int, const char *, va_list), __vdprintf_chk(int, int, const char *, va_list);
extern int __uflow(FILE *), __overflow(FILE *, int);

static char bytes[4096] = "0123456789";

static void descriptors(void)
{
    int fd, ends[2];
    struct iovec part = {bytes, 5};
    CALL((fd = as___open("data", O_RDWR | O_CREAT | O_TRUNC, 0600)) >= 0, "open +data");
    CALL(as___write(fd, bytes, 10) == 10, "write w:data:10:10");
    CALL(as___lseek(fd, 0, SEEK_SET) == 0, "lseek data@0");
    CALL(as___read(fd, bytes, 4) == 4, "read r:data:4:4");
    CALL(__read_chk(fd, bytes, 4, sizeof bytes) == 4, "read r:data:4:4");
    CALL(__pread_chk(fd, bytes, 4, 1, sizeof bytes) == 4, "pread @1 r:data:4:4");
    CALL(__pread64_chk(fd, bytes, 4, 2, sizeof bytes) == 4, "pread64 @2 r:data:4:4");
    CALL(as___pread64(fd, bytes, 4, 3) == 4, "pread64 @3 r:data:4:4");
    CALL(as___pwrite64(fd, bytes, 4, 3) == 4, "pwrite64 @3 w:data:4:4");
    CALL(preadv64(fd, &part, 1, 1) == 5, "preadv64 @1 r:data:5:5");
    CALL(pwritev64(fd, &part, 1, 1) == 5, "pwritev64 @1 w:data:5:5");
    CALL(preadv64v2(fd, &part, 1, 2, 0) == 5, "preadv64v2 @2 r:data:5:5");
    CALL(pwritev64v2(fd, &part, 1, 2, 0) == 5, "pwritev64v2 @2 w:data:5:5");
    CALL(as___dup2(fd, 20) == 20, "dup2 data=data");
    CALL(!as___close(20), "close -data");
    CALL(as___fcntl(fd, F_GETFD) == 0, "fcntl");
    CALL(as_fcntl64(fd, F_GETFD) == 0, "fcntl64");
    CALL(!as___pipe(ends), "pipe +pipe +pipe");
    off_t at = 0;
    CALL(sendfile(ends[1], fd, &at, 3) == 3, "sendfile r:data:3:3 w:pipe:3:3");
    CALL(vmsplice(ends[1], &part, 1, 0) == 5, "vmsplice w:pipe:5:5");
    int more[2];
    CALL(!pipe(more), "pipe +pipe +pipe");
    CALL(tee(ends[0], more[1], 8, 0) == 8, "tee r:pipe:8:8 w:pipe:8:8");
    for (int i = 0; i < 2; i++) {
        CALL(!close(ends[i]), "close -pipe");
        CALL(!close(more[i]), "close -pipe");
    }
    CALL(!sync_file_range(fd, 0, 10, SYNC_FILE_RANGE_WRITE), "sync_file_range f:data:?:?");
    CALL(!syncfs(fd), "syncfs f:data:?:?");
    CALL(readahead(fd, 0, 10) == 0, "readahead");
    CALL(!ftruncate64(fd, 8192), "ftruncate64");
    CALL(!truncate64("data", 8192), "truncate64");
    int r = fallocate(fd, 0, 0, 8192);
    r ? call("fallocate !%d", errno) : call("fallocate");
    r = fallocate64(fd, 0, 0, 8192);
    r ? call("fallocate64 !%d", errno) : call("fallocate64");
    CALL(!posix_fallocate64(fd, 0, 8192), "posix_fallocate64");
    CALL(!posix_fadvise64(fd, 0, 0, POSIX_FADV_NORMAL), "posix_fadvise64");
    void *p;
    CALL((p = mmap64(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0)) != MAP_FAILED, "mmap64");
    CALL(!as___munmap(p, 4096), "munmap");
    CALL((p = as___mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0)) != MAP_FAILED, "mmap");
    CALL(!as___munmap(p, 4096), "munmap");
    CALL(!close(fd), "close -data");
}

static void temporary(int fd, const char *function, const char *name)
{
    MUST(fd >= 0);
    call("%s +%s", function, name);
    CALL(!close(fd), "close -%s", name);
    CALL(!unlink(name), "unlink x:%s", name);
}

static void opening(void)
{
    char names[7][20];
    int fd;
    for (int i = 0; i < 7; i++) strcpy(names[i], "tmp-XXXXXX.end"), names[i][i < 3 ? 10 : 14] = 0;
    temporary(mkstemp64(names[0]), "mkstemp64", names[0]);
    temporary(mkostemp(names[1], O_CLOEXEC), "mkostemp", names[1]);
    temporary(mkostemp64(names[2], O_CLOEXEC), "mkostemp64", names[2]);
    temporary(mkstemps(names[3], 4), "mkstemps", names[3]);
    temporary(mkstemps64(names[4], 4), "mkstemps64", names[4]);
    temporary(mkostemps(names[5], 4, O_CLOEXEC), "mkostemps", names[5]);
    temporary(mkostemps64(names[6], 4, O_CLOEXEC), "mkostemps64", names[6]);
    CALL((fd = as___open64("data", O_RDONLY)) >= 0, "open64 +data");
    CALL(!close(fd), "close -data");
    CALL((fd = __open_2("data", O_RDONLY)) >= 0, "open +data");
    CALL(!close(fd), "close -data");
    CALL((fd = __open64_2("data", O_RDONLY)) >= 0, "open64 +data");
    CALL(!close(fd), "close -data");
    CALL((fd = __openat_2(AT_FDCWD, "data", O_RDONLY)) >= 0, "openat +data");
    CALL(!close(fd), "close -data");
    CALL((fd = __openat64_2(AT_FDCWD, "data", O_RDONLY)) >= 0, "openat64 +data");
    CALL(!close(fd), "close -data");
}

static void files(void)
{
    struct stat s;
    struct statfs64 f;
    struct statvfs64 v;
    struct dirent entry, *found;
    struct dirent64 entry64, *found64;
    int fd;
    DIR *d;
    CALL((fd = open("data", O_RDONLY)) >= 0, "open +data");
    CALL(!__xstat(1, "data", &s), "stat");
    CALL(!__xstat64(1, "data", &s), "stat64");
    CALL(!__lxstat(1, "data", &s), "lstat");
    CALL(!__lxstat64(1, "data", &s), "lstat64");
    CALL(!__fxstat(1, fd, &s), "fstat");
    CALL(!__fxstat64(1, fd, &s), "fstat64");
    CALL(!__fxstatat(1, AT_FDCWD, "data", &s, 0), "fstatat");
    CALL(!__fxstatat64(1, AT_FDCWD, "data", &s, 0), "fstatat64");
    CALL(!statfs64(".", &f), "statfs64");
    CALL(!fstatfs64(fd, &f), "fstatfs64");
    CALL(!statvfs64(".", &v), "statvfs64");
    CALL(!fstatvfs64(fd, &v), "fstatvfs64");
    CALL(!close(fd), "close -data");
    CALL(!symlink("data", "link"), "symlink");
    CALL(__readlink_chk("link", bytes, 100, sizeof bytes) == 4, "readlink");
    CALL(__readlinkat_chk(AT_FDCWD, "link", bytes, 100, sizeof bytes) == 4, "readlinkat");
    CALL(!unlink("link"), "unlink x:link");
    CALL(!mkdir("dir", 0700), "mkdir");
    CALL(d = opendir("dir"), "opendir +dir");
    CALL(!readdir_r(d, &entry, &found), "readdir_r");
    CALL(!readdir64_r(d, &entry64, &found64), "readdir64_r");
    CALL(!closedir(d), "closedir -dir");
    CALL((fd = open("dir", O_RDONLY | O_DIRECTORY)) >= 0, "open +dir");
    CALL(getdents64(fd, bytes, sizeof bytes) > 0, "getdents64");
    CALL(!close(fd), "close -dir");
    CALL(!rmdir("dir"), "rmdir");
}

#define V(name, call)                                                       \
    static int v_##name(FILE *f, const char *format, ...)                   \
    {                                                                       \
        va_list list;                                                       \
        va_start(list, format);                                             \
        int r = call;                                                       \
        va_end(list);                                                       \
        (void)f;                                                            \
        return r;                                                           \
    }

V(vprintf, REAL(vprintf)(format, list)) V(vfprintf, vfprintf(f, format, list)) V(vdprintf, vdprintf(1, format, list))
V(vprintf_chk, __vprintf_chk(1, format, list)) V(vfprintf_chk, __vfprintf_chk(f, 1, format, list))
V(vdprintf_chk, __vdprintf_chk(1, 1, format, list)) V(IO_vfprintf, as__IO_vfprintf(f, format, list))
V(vscanf, as_vscanf(format, list)) V(vfscanf, as_vfscanf(f, format, list)) V(uvfscanf, as___vfscanf(f, format, list))
V(vscanf99, as___isoc99_vscanf(format, list)) V(vfscanf99, as___isoc99_vfscanf(f, format, list))

static void written(FILE *f)
{
    CALL(as__IO_fputs("one\n", f) >= 0, "fputs w:text:4:4");
    CALL(as__IO_fwrite("two\n", 1, 4, f) == 4, "fwrite w:text:4:4");
    CALL(as__IO_fprintf(f, "%d\n", 3) == 2, "fprintf w:text:?:2");
    CALL(__fprintf_chk(f, 1, "%d\n", 4) == 2, "fprintf w:text:?:2");
    CALL(v_vfprintf(f, "%d\n", 5) == 2, "vfprintf w:text:?:2");
    CALL(v_vfprintf_chk(f, "%d\n", 6) == 2, "vfprintf w:text:?:2");
    CALL(v_IO_vfprintf(f, "%d\n", 7) == 2, "vfprintf w:text:?:2");
    CALL(!as__IO_fflush(f), "fflush f:text:?:?");
    CALL(__overflow(f, '8') == '8', "putc_unlocked w:text:?:0");
    CALL(fputs("\n9\n", f) >= 0, "fputs w:text:3:3");
}

static void standard(void)
{
    CALL(freopen("text", "a", stdout), "freopen -stdout -stdout +text +text");
    CALL(!as__IO_setvbuf(stdout, NULL, _IOFBF, 4096), "setvbuf");
    CALL(as__IO_printf("%d\n", 10) == 3, "printf w:text:?:3");
    CALL(__printf_chk(1, "%d\n", 11) == 3, "printf w:text:?:3");
    CALL(v_vprintf(NULL, "%d\n", 12) == 3, "vprintf w:text:?:3");
    CALL(v_vprintf_chk(NULL, "%d\n", 13) == 3, "vprintf w:text:?:3");
    CALL(as__IO_puts("14") >= 0, "puts w:text:3:3");
    CALL(!fflush(stdout), "fflush f:text:?:?");
    CALL(v_vdprintf(NULL, "%d\n", 15) == 3, "vdprintf w:text:?:3");
    CALL(v_vdprintf_chk(NULL, "%d\n", 16) == 3, "vdprintf w:text:?:3");
    CALL(__dprintf_chk(1, 1, "%d\n", 17) == 3, "dprintf w:text:?:3");
}

static void reading(FILE *f)
{
    char *line = NULL;
    size_t room = 0;
    int n;
    CALL(as__IO_fgets(bytes, 100, f), "fgets r:text:99:4");
    CALL(as__IO_fread(bytes, 1, 2, f) == 2, "fread r:text:2:2");
    CALL(__fread_chk(bytes, sizeof bytes, 1, 1, f) == 1, "fread r:text:1:1");
    CALL(__fread_unlocked_chk(bytes, sizeof bytes, 1, 1, f) == 1, "fread_unlocked r:text:1:1");
    CALL(__fgets_chk(bytes, sizeof bytes, 100, f), "fgets r:text:99:2");
    CALL(__fgets_unlocked_chk(bytes, sizeof bytes, 100, f), "fgets_unlocked r:text:99:2");
    CALL(__getdelim(&line, &room, '\n', f) == 2, "getdelim r:text:?:2");
    CALL(as_fscanf(f, "%d", &n) == 1 && n == 6, "fscanf r:text:?:?");
    CALL(v_vfscanf(f, "%d", &n) == 1 && n == 7, "vfscanf r:text:?:?");
    CALL(v_uvfscanf(f, "%d", &n) == 1 && n == 8, "vfscanf r:text:?:?");
    CALL(v_vfscanf99(f, "%d", &n) == 1 && n == 9, "vfscanf r:text:?:?");
    CALL(as__IO_ungetc('x', f) == 'x', "ungetc");
    call("flockfile L:text"), as__IO_flockfile(f);
    CALL(!as__IO_ftrylockfile(f), "ftrylockfile L:text");
    call("funlockfile U:text"), as__IO_funlockfile(f);
    call("funlockfile U:text"), as__IO_funlockfile(f);
    free(line);
}

static void input(void)
{
    int n;
    CALL(freopen("text", "r", stdin), "freopen -stdin -stdin +text +text");
    CALL(as__IO_gets(bytes), "gets r:text:?:4");
    CALL(__gets_chk(bytes, sizeof bytes), "gets r:text:?:4");
    CALL(as_scanf("%d", &n) == 1 && n == 3, "scanf r:text:?:?");
    CALL(v_vscanf(NULL, "%d", &n) == 1 && n == 4, "vscanf r:text:?:?");
    CALL(v_vscanf99(NULL, "%d", &n) == 1 && n == 5, "vscanf r:text:?:?");
}

static void nameless(FILE *f, const char *function)
{
    char link[32], path[200];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fileno(f));
    long n = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    MUST(n > 0);
    path[n] = 0;
    const char *name = strrchr(path, '/') + 1;
    call("%s +%s +%s", function, name, name);
    CALL(!fclose(f), "fclose -%s -%s", name, name);
}

static void streams(void)
{
    FILE *f;
    int fd;
    CALL(f = as__IO_fopen("text", "w"), "fopen +text +text");
    written(f);
    CALL(!as__IO_fclose(f), "fclose -text -text");
    standard();
    CALL((fd = open("text", O_RDONLY)) >= 0, "open +text");
    CALL(f = as__IO_fdopen(fd, "r"), "fdopen +text");
    reading(f);
    CALL(!fclose(f), "fclose -text -text");
    CALL(f = fopen("text", "r"), "fopen +text +text");
    CALL(__uflow(f) == 'o', "getc_unlocked r:text:?:46");
    CALL(!fclose(f), "fclose -text -text");
    input();
    MUST(f = tmpfile()), nameless(f, "tmpfile");
    MUST(f = tmpfile64()), nameless(f, "tmpfile64");
    CALL(f = as__IO_popen("exit 0", "r"), "popen +pipe +pipe");
    CALL(!pclose(f), "pclose -pipe -pipe");
}

static void sockets(void)
{
    int ends[2], fd;
    struct iovec part = {bytes, 5};
    struct mmsghdr message = {{.msg_iov = &part, .msg_iovlen = 1}, 0};
    CALL(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair +socket +socket");
    CALL(as___send(ends[0], bytes, 10, 0) == 10, "send w:socket:10:10");
    CALL(as___recv(ends[1], bytes, 4, 0) == 4, "recv r:socket:4:4");
    CALL(__recv_chk(ends[1], bytes, 4, sizeof bytes, 0) == 4, "recv r:socket:4:4");
    CALL(__recvfrom_chk(ends[1], bytes, 4, sizeof bytes, 0, NULL, NULL) == 2, "recvfrom r:socket:4:2");
    CALL(as___sendmmsg(ends[0], &message, 1, 0) == 1, "sendmmsg w:socket:?:5");
    CALL((fd = as___socket(AF_UNIX, SOCK_STREAM, 0)) >= 0, "socket +socket");
    CALL(as___connect(fd, NULL, 0) < 0, "connect !%d", errno);
    CALL(!close(fd), "close -socket");
    CALL(!close(ends[0]), "close -socket");
    CALL(!close(ends[1]), "close -socket");
}

static void asynchronous(void)
{
    int fd;
    CALL((fd = open("data", O_RDWR)) >= 0, "open +data");
    struct aiocb64 c = {.aio_fildes = fd, .aio_buf = bytes, .aio_nbytes = 4, .aio_lio_opcode = LIO_WRITE};
    const struct aiocb64 *const waited[1] = {&c};
    struct aiocb64 *const list[1] = {&c};
    CALL(!aio_write64(&c), "aio_write64 @0 w:data:4 issued");
    while (aio_error64(&c) == EINPROGRESS) aio_suspend64(waited, 1, NULL);
    CALL(aio_return64(&c) == 4, "aio_return64 data:4");
    CALL(!aio_fsync64(O_SYNC, &c), "aio_fsync64 f:data:? issued");
    while (aio_error64(&c) == EINPROGRESS) aio_suspend64(waited, 1, NULL);
    CALL(aio_return64(&c) == 0, "aio_return64 data:0");
    c.aio_lio_opcode = LIO_WRITE; /* aio_fsync has changed it */
    CALL(!lio_listio64(LIO_WAIT, list, 1, NULL), "lio_listio64 @0 w:data:4 issued");
    CALL(aio_return64(&c) == 4, "aio_return64 data:4");
    CALL(aio_cancel64(fd, NULL) >= 0, "aio_cancel64");
    CALL(!close(fd), "close -data");
}

int main(void)
{
    descriptors();
    opening();
    files();
    streams();
    sockets();
    asynchronous();
    tell();
    return 0;
}
