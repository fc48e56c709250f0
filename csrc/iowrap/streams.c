/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams of stdio. The records show the program's requests. The moments at which libc fills and writes its buffers are
   not visible. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <wchar.h>
#include "iowrap.h"

/* ---- Opening and closing ---- */

static void leave_stream(uint32_t region, FILE *f, uint64_t replaced, const char *path, int flags)
{
    struct vt_io_batch batch = {0};
    const int error = f ? 0 : errno;
    vt_io_closed(&batch, replaced);
    if (f) vt_io_opened_stream(&batch, f, path, flags);
    vt_io_finish(&batch, region, error);
}

/* path: NULL if it is read from /proc. flags: those of open(2), computed from mode only if the call succeeded. */
#define VT_IO_FOPEN(symbol, shown, params, args, path, flags)                                                          \
    VT_IO_METADATA(symbol, shown, FILE *, params, args, leave_stream(region, r, 0, path, r ? flags : 0))

VT_IO_FOPEN(fopen, fopen, (const char *path, const char *mode), (path, mode), path, vt_io_mode_flags(mode))
VT_IO_FOPEN(fopen64, fopen64, (const char *path, const char *mode), (path, mode), path, vt_io_mode_flags(mode))
VT_IO_FOPEN(popen, popen, (const char *command, const char *mode), (command, mode), NULL,
            *mode == 'r' ? O_RDONLY : O_WRONLY)
VT_IO_FOPEN(tmpfile, tmpfile, (void), (), NULL, O_RDWR | O_CREAT | O_EXCL)
VT_IO_FOPEN(tmpfile64, tmpfile64, (void), (), NULL, O_RDWR | O_CREAT | O_EXCL)
VT_IO_ALIAS(_IO_fopen, fopen)
VT_IO_ALIAS(_IO_popen, popen)

static void leave_fdopen(uint32_t region, FILE *f, const char *mode)
{
    struct vt_io_batch batch = {0};
    const int error = f ? 0 : errno;
    if (f) vt_io_stream_on(&batch, f, vt_io_mode_flags(mode) & ~(O_CREAT | O_TRUNC));
    vt_io_finish(&batch, region, error);
}

VT_IO_METADATA(fdopen, fdopen, FILE *, (int fd, const char *mode), (fd, mode), leave_fdopen(region, r, mode))
VT_IO_ALIAS(_IO_fdopen, fdopen)

/* The old descriptor of the stream is closed in any case. Without a path only the mode changes. */
#define VT_IO_FREOPEN(symbol)                                                                                          \
    VT_IO_DEFINE(symbol, symbol, FILE_IO_METADATA, FILE *, (const char *path, const char *mode, FILE *f),              \
                 (path, mode, f))                                                                                      \
    {                                                                                                                  \
        VT_IO_BEGIN(symbol, FILE *, (const char *, const char *, FILE *), (path, mode, f))                             \
        vt_enter_call(region);                                                                                         \
        const uint64_t replaced = vt_io_take(vt_io_fileno(f));                                                         \
        FILE *r = VT_IO_NEXT(symbol, FILE *, (const char *, const char *, FILE *))(path, mode, f);                     \
        leave_stream(region, r, replaced, path, r ? vt_io_mode_flags(mode) : 0);                                       \
        return r;                                                                                                      \
    }

VT_IO_FREOPEN(freopen)
VT_IO_FREOPEN(freopen64)

#define VT_IO_FCLOSE(symbol)                                                                                           \
    VT_IO_DEFINE(symbol, symbol, FILE_IO_METADATA, int, (FILE * f), (f))                                               \
    {                                                                                                                  \
        VT_IO_BEGIN(symbol, int, (FILE *), (f))                                                                        \
        vt_enter_call(region);                                                                                         \
        struct vt_io_batch batch = {0};                                                                                \
        const uint64_t known = vt_io_take(vt_io_fileno(f));                                                            \
        const int r = VT_IO_NEXT(symbol, int, (FILE *))(f);                                                            \
        const int error = r == -1 ? errno : 0;                                                                         \
        vt_io_closed(&batch, known);                                                                                   \
        vt_io_finish(&batch, region, error);                                                                           \
        return r;                                                                                                      \
    }

VT_IO_FCLOSE(fclose)
VT_IO_FCLOSE(pclose)
VT_IO_ALIAS(_IO_fclose, fclose)

/* ---- Characters ---- */

/* One character. For a read the end of the file is no failure. */
#define VT_IO_CHARACTER(symbol, shown, mode, params, args, f)                                                          \
    VT_IO_OPERATION(symbol, shown, int, params, args, vt_io_stream(f), VT_IO_##mode, 1, r != EOF,                      \
                    r == EOF && (VT_IO_##mode == VT_IO_WRITE || vt_io_in_error(f)))

VT_IO_CHARACTER(fgetc, fgetc, READ, (FILE * f), (f), f)
VT_IO_CHARACTER(getc, getc, READ, (FILE * f), (f), f)
VT_IO_CHARACTER(getchar, getchar, READ, (void), (), stdin)
VT_IO_CHARACTER(fgetc_unlocked, fgetc_unlocked, READ, (FILE * f), (f), f)
VT_IO_CHARACTER(getc_unlocked, getc_unlocked, READ, (FILE * f), (f), f)
VT_IO_CHARACTER(getchar_unlocked, getchar_unlocked, READ, (void), (), stdin)
VT_IO_ALIAS(_IO_getc, getc)

VT_IO_CHARACTER(fputc, fputc, WRITE, (int c, FILE *f), (c, f), f)
VT_IO_CHARACTER(putc, putc, WRITE, (int c, FILE *f), (c, f), f)
VT_IO_CHARACTER(putchar, putchar, WRITE, (int c), (c), stdout)
VT_IO_CHARACTER(fputc_unlocked, fputc_unlocked, WRITE, (int c, FILE *f), (c, f), f)
VT_IO_CHARACTER(putc_unlocked, putc_unlocked, WRITE, (int c, FILE *f), (c, f), f)
VT_IO_CHARACTER(putchar_unlocked, putchar_unlocked, WRITE, (int c), (c), stdout)
VT_IO_ALIAS(_IO_putc, putc)

VT_IO_CALL(ungetc, ungetc, FILE_IO_METADATA, int, (int c, FILE *f), (c, f), r == EOF)
VT_IO_ALIAS(_IO_ungetc, ungetc)

/* getc_unlocked and putc_unlocked are inline; they call these functions to read or write a buffer. */
VT_IO_OPERATION(__uflow, getc_unlocked, int, (FILE * f), (f), vt_io_stream(f), VT_IO_READ, VT_IO_UNKNOWN,
                r == EOF ? 0 : (uint64_t)(f->_IO_read_end - f->_IO_read_ptr) + 1, r == EOF && vt_io_in_error(f))

VT_IO_DEFINE(__overflow, putc_unlocked, FILE_IO, int, (FILE * f, int c), (f, c))
{
    VT_IO_BEGIN(__overflow, int, (FILE *, int), (f, c))
    const uint64_t held = (uint64_t)(f->_IO_write_ptr - f->_IO_write_base);
    struct vt_io_transfer t = vt_io_transfer(region, vt_io_stream(f), VT_IO_WRITE, VT_IO_UNKNOWN);
    const int r = VT_IO_NEXT(__overflow, int, (FILE *, int))(f, c);
    const uint64_t holds = (uint64_t)(f->_IO_write_ptr - f->_IO_write_base);
    vt_io_transferred(&t, r == EOF || held + 1 < holds ? 0 : held + 1 - holds, r == EOF);
    return r;
}

/* ---- Lines ---- */

/* The line is counted up to its first zero byte, since libc does not return the number of bytes read. */
#define VT_IO_FGETS(symbol, shown, params, args, f, room)                                                              \
    VT_IO_OPERATION(symbol, shown, char *, params, args, vt_io_stream(f), VT_IO_READ, room, r ? strlen(r) : 0,         \
                    !r && vt_io_in_error(f))

#define ROOM(n) ((n) > 1 ? (uint64_t)(n) - 1 : 0)
VT_IO_FGETS(fgets, fgets, (char *to, int n, FILE *f), (to, n, f), f, ROOM(n))
VT_IO_FGETS(__fgets_chk, fgets, (char *to, size_t size, int n, FILE *f), (to, size, n, f), f, ROOM(n))
VT_IO_FGETS(fgets_unlocked, fgets_unlocked, (char *to, int n, FILE *f), (to, n, f), f, ROOM(n))
VT_IO_FGETS(__fgets_unlocked_chk, fgets_unlocked, (char *to, size_t size, int n, FILE *f), (to, size, n, f), f, ROOM(n))
VT_IO_ALIAS(_IO_fgets, fgets)

/* The newline, which gets drops, is counted. */
#define VT_IO_GETS(symbol, params, args)                                                                               \
    VT_IO_OPERATION(symbol, gets, char *, params, args, vt_io_stream(stdin), VT_IO_READ, VT_IO_UNKNOWN,                \
                    r ? strlen(r) + !feof(stdin) : 0, !r && vt_io_in_error(stdin))

VT_IO_GETS(gets, (char *to), (to))
VT_IO_GETS(__gets_chk, (char *to, size_t size), (to, size))
VT_IO_ALIAS(_IO_gets, gets)

#define VT_IO_GETLINE(symbol, shown, params, args)                                                                     \
    VT_IO_OPERATION(symbol, shown, ssize_t, params, args, vt_io_stream(f), VT_IO_READ, VT_IO_UNKNOWN,                  \
                    r > 0 ? (uint64_t)r : 0, r < 0 && vt_io_in_error(f))

VT_IO_GETLINE(getline, getline, (char **line, size_t *n, FILE *f), (line, n, f))
VT_IO_GETLINE(getdelim, getdelim, (char **line, size_t *n, int end, FILE *f), (line, n, end, f))
VT_IO_GETLINE(__getdelim, getdelim, (char **line, size_t *n, int end, FILE *f), (line, n, end, f))

#define VT_IO_FPUTS(symbol, shown, params, args, f, more)                                                              \
    VT_IO_DEFINE(symbol, shown, FILE_IO, int, params, args)                                                            \
    {                                                                                                                  \
        VT_IO_BEGIN(symbol, int, params, args)                                                                         \
        const uint64_t n = strlen(s) + more;                                                                           \
        struct vt_io_transfer t = vt_io_transfer(region, vt_io_stream(f), VT_IO_WRITE, n);                             \
        const int r = VT_IO_NEXT(symbol, int, params) args;                                                            \
        vt_io_transferred(&t, r == EOF ? 0 : n, r == EOF);                                                             \
        return r;                                                                                                      \
    }

VT_IO_FPUTS(fputs, fputs, (const char *s, FILE *f), (s, f), f, 0)
VT_IO_FPUTS(fputs_unlocked, fputs_unlocked, (const char *s, FILE *f), (s, f), f, 0)
VT_IO_FPUTS(puts, puts, (const char *s), (s), stdout, 1)
VT_IO_ALIAS(_IO_fputs, fputs)
VT_IO_ALIAS(_IO_puts, puts)

/* ---- Blocks ---- */

/* Whole items are counted, as the call returns them. */
#define VT_IO_FREAD(symbol, shown, mode, params, args, failed)                                                         \
    VT_IO_OPERATION(symbol, shown, size_t, params, args, vt_io_stream(f), VT_IO_##mode, size *n, r *size,              \
                    r < n && failed)

VT_IO_FREAD(fread, fread, READ, (void *to, size_t size, size_t n, FILE *f), (to, size, n, f), vt_io_in_error(f))
VT_IO_FREAD(fread_unlocked, fread_unlocked, READ, (void *to, size_t size, size_t n, FILE *f), (to, size, n, f),
            vt_io_in_error(f))
VT_IO_FREAD(__fread_chk, fread, READ, (void *to, size_t room, size_t size, size_t n, FILE *f), (to, room, size, n, f),
            vt_io_in_error(f))
VT_IO_FREAD(__fread_unlocked_chk, fread_unlocked, READ, (void *to, size_t room, size_t size, size_t n, FILE *f),
            (to, room, size, n, f), vt_io_in_error(f))
VT_IO_FREAD(fwrite, fwrite, WRITE, (const void *from, size_t size, size_t n, FILE *f), (from, size, n, f), size != 0)
VT_IO_FREAD(fwrite_unlocked, fwrite_unlocked, WRITE, (const void *from, size_t size, size_t n, FILE *f),
            (from, size, n, f), size != 0)
VT_IO_ALIAS(_IO_fread, fread)
VT_IO_ALIAS(_IO_fwrite, fwrite)

/* ---- Flushing; NULL flushes all streams ---- */

#define VT_IO_FFLUSH(symbol)                                                                                           \
    VT_IO_OPERATION(symbol, symbol, int, (FILE * f), (f), f ? vt_io_stream(f) : 0, VT_IO_FLUSH, VT_IO_UNKNOWN,         \
                    r ? 0 : VT_IO_UNKNOWN, r != 0)

VT_IO_FFLUSH(fflush)
VT_IO_FFLUSH(fflush_unlocked)
VT_IO_ALIAS(_IO_fflush, fflush)

/* ---- Wide characters. libc does not return their number of bytes in the encoding of the file. The records show 0 bytes
   if a call fails or meets the end of the file, else an unknown number. ---- */

/* none: true if a result r means 0 bytes. A read has failed only if its stream has an error. */
#define VT_IO_WIDE(symbol, shown, mode, type, params, args, f, none)                                                   \
    VT_IO_OPERATION(symbol, shown, type, params, args, vt_io_stream(f), VT_IO_##mode, VT_IO_UNKNOWN,                   \
                    none ? 0 : VT_IO_UNKNOWN, (none) && (VT_IO_##mode == VT_IO_WRITE || vt_io_in_error(f)))

VT_IO_WIDE(fgetwc, fgetwc, READ, wint_t, (FILE * f), (f), f, r == WEOF)
VT_IO_WIDE(getwc, getwc, READ, wint_t, (FILE * f), (f), f, r == WEOF)
VT_IO_WIDE(getwchar, getwchar, READ, wint_t, (void), (), stdin, r == WEOF)
VT_IO_WIDE(fgetwc_unlocked, fgetwc_unlocked, READ, wint_t, (FILE * f), (f), f, r == WEOF)
VT_IO_WIDE(getwc_unlocked, getwc_unlocked, READ, wint_t, (FILE * f), (f), f, r == WEOF)
VT_IO_WIDE(getwchar_unlocked, getwchar_unlocked, READ, wint_t, (void), (), stdin, r == WEOF)

VT_IO_WIDE(fputwc, fputwc, WRITE, wint_t, (wchar_t c, FILE *f), (c, f), f, r == WEOF)
VT_IO_WIDE(putwc, putwc, WRITE, wint_t, (wchar_t c, FILE *f), (c, f), f, r == WEOF)
VT_IO_WIDE(putwchar, putwchar, WRITE, wint_t, (wchar_t c), (c), stdout, r == WEOF)
VT_IO_WIDE(fputwc_unlocked, fputwc_unlocked, WRITE, wint_t, (wchar_t c, FILE *f), (c, f), f, r == WEOF)
VT_IO_WIDE(putwc_unlocked, putwc_unlocked, WRITE, wint_t, (wchar_t c, FILE *f), (c, f), f, r == WEOF)
VT_IO_WIDE(putwchar_unlocked, putwchar_unlocked, WRITE, wint_t, (wchar_t c), (c), stdout, r == WEOF)

VT_IO_WIDE(fgetws, fgetws, READ, wchar_t *, (wchar_t * to, int n, FILE *f), (to, n, f), f, !r)
VT_IO_WIDE(__fgetws_chk, fgetws, READ, wchar_t *, (wchar_t * to, size_t size, int n, FILE *f), (to, size, n, f), f, !r)
VT_IO_WIDE(fgetws_unlocked, fgetws_unlocked, READ, wchar_t *, (wchar_t * to, int n, FILE *f), (to, n, f), f, !r)
VT_IO_WIDE(__fgetws_unlocked_chk, fgetws_unlocked, READ, wchar_t *, (wchar_t * to, size_t size, int n, FILE *f),
           (to, size, n, f), f, !r)
VT_IO_WIDE(fputws, fputws, WRITE, int, (const wchar_t *s, FILE *f), (s, f), f, r == EOF)
VT_IO_WIDE(fputws_unlocked, fputws_unlocked, WRITE, int, (const wchar_t *s, FILE *f), (s, f), f, r == EOF)

VT_IO_CALL(ungetwc, ungetwc, FILE_IO_METADATA, wint_t, (wint_t c, FILE *f), (c, f), r == WEOF)

/* ---- Positions: the new position is known only for SEEK_SET ---- */

static void leave_fseek(uint32_t region, FILE *f, int64_t to, int whence, bool failed)
{
    const int error = failed ? errno : 0;
    vt_io_leave_seek(region, failed ? 0 : vt_io_stream(f), to, whence,
                     whence == SEEK_SET ? (uint64_t)to : VT_IO_UNKNOWN, error);
}

#define VT_IO_FSEEK(symbol, params, args, offset, whence)                                                              \
    VT_IO_METADATA(symbol, symbol, int, params, args, leave_fseek(region, f, offset, whence, r != 0))

VT_IO_FSEEK(fseek, (FILE * f, long to, int whence), (f, to, whence), to, whence)
VT_IO_FSEEK(fseeko, (FILE * f, off_t to, int whence), (f, to, whence), to, whence)
VT_IO_FSEEK(fseeko64, (FILE * f, off64_t to, int whence), (f, to, whence), to, whence)
VT_IO_FSEEK(fsetpos, (FILE * f, const fpos_t *p), (f, p), p->__pos, SEEK_SET)
VT_IO_FSEEK(fsetpos64, (FILE * f, const fpos64_t *p), (f, p), p->__pos, SEEK_SET)

VT_IO_DEFINE(rewind, rewind, FILE_IO_METADATA, void, (FILE * f), (f))
{
    VT_IO_BEGIN(rewind, void, (FILE *), (f))
    vt_enter_call(region);
    VT_IO_NEXT(rewind, void, (FILE *))(f);
    leave_fseek(region, f, 0, SEEK_SET, false);
}

VT_IO_CALL(ftell, ftell, FILE_IO_METADATA, long, (FILE * f), (f), r < 0)
VT_IO_CALL(ftello, ftello, FILE_IO_METADATA, off_t, (FILE * f), (f), r < 0)
VT_IO_CALL(ftello64, ftello64, FILE_IO_METADATA, off64_t, (FILE * f), (f), r < 0)
VT_IO_CALL(fgetpos, fgetpos, FILE_IO_METADATA, int, (FILE * f, fpos_t *p), (f, p), r != 0)
VT_IO_CALL(fgetpos64, fgetpos64, FILE_IO_METADATA, int, (FILE * f, fpos64_t *p), (f, p), r != 0)
VT_IO_CALL(setvbuf, setvbuf, FILE_IO_METADATA, int, (FILE * f, char *buffer, int mode, size_t n), (f, buffer, mode, n),
           r != 0)
VT_IO_ALIAS(_IO_setvbuf, setvbuf)

/* ---- Locks of streams ---- */

static void leave_flockfile(uint32_t region, uint32_t handle, uint32_t kind)
{
    if (handle) vt_write_3(VT_HEAD(kind, 1, handle), 0 /* OTF2_LOCK_EXCLUSIVE */, VT_HEAD(VT_K_LEAVE, 0, region));
    else vt_leave(region);
}

/* The handle is looked up before the call: after funlockfile another thread may close the stream. */
#define VT_IO_FLOCKFILE(symbol, kind)                                                                                  \
    VT_IO_DEFINE(symbol, symbol, FILE_IO_METADATA, void, (FILE * f), (f))                                              \
    {                                                                                                                  \
        VT_IO_BEGIN(symbol, void, (FILE *), (f))                                                                       \
        vt_enter_call(region);                                                                                         \
        const uint32_t handle = vt_io_stream(f);                                                                       \
        VT_IO_NEXT(symbol, void, (FILE *))(f);                                                                         \
        leave_flockfile(region, handle, VT_K_IO_##kind##_LOCK);                                                        \
    }

VT_IO_FLOCKFILE(flockfile, ACQUIRE)
VT_IO_FLOCKFILE(funlockfile, RELEASE)
VT_IO_ALIAS(_IO_flockfile, flockfile)
VT_IO_ALIAS(_IO_funlockfile, funlockfile)

VT_IO_DEFINE(ftrylockfile, ftrylockfile, FILE_IO_METADATA, int, (FILE * f), (f))
{
    VT_IO_BEGIN(ftrylockfile, int, (FILE *), (f))
    vt_enter_call(region);
    const uint32_t handle = vt_io_stream(f);
    const int r = VT_IO_NEXT(ftrylockfile, int, (FILE *))(f);
    leave_flockfile(region, handle, r ? VT_K_IO_TRY_LOCK : VT_K_IO_ACQUIRE_LOCK);
    return r;
}
VT_IO_ALIAS(_IO_ftrylockfile, ftrylockfile)
