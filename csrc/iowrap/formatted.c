/* SPDX-License-Identifier: BSD-3-Clause */
/* printf and scanf. Variable arguments are passed on as a va_list, to the function that takes one. */
#include <stdarg.h>
#include <wchar.h>
#include "iowrap.h"

/* printf returns the number of bytes. wprintf returns wide characters, so the number of bytes is unknown, as for scanf.
   scanf returns EOF also at the end of the file. */
enum formatted { PRINTF, WPRINTF, SCANF };

static VT_INLINE void formatted(const struct vt_io_transfer *t, enum formatted kind, int r)
{
    const uint64_t done = kind == PRINTF ? (uint64_t)r : VT_IO_UNKNOWN;
    vt_io_transferred(t, r < 0 ? 0 : done, r < 0 && kind != SCANF);
}

#define MODE(kind) ((kind) == SCANF ? VT_IO_READ : VT_IO_WRITE)
#define VT_IO_LIST(symbol, shown, kind, params, args, handle)                                                          \
    VT_IO_WRAP(symbol, shown, FILE_IO, int, params, args,                                                              \
               struct vt_io_transfer t = vt_io_transfer(region, handle, MODE(kind), VT_IO_UNKNOWN),                    \
               formatted(&t, kind, r))

VT_IO_LIST(vprintf, vprintf, PRINTF, (const char *format, va_list list), (format, list), vt_io_stream(stdout))
VT_IO_LIST(vfprintf, vfprintf, PRINTF, (FILE * f, const char *format, va_list list), (f, format, list), vt_io_stream(f))
VT_IO_LIST(vdprintf, vdprintf, PRINTF, (int fd, const char *format, va_list list), (fd, format, list), vt_io_fd(fd))
VT_IO_LIST(__vprintf_chk, vprintf, PRINTF, (int check, const char *format, va_list list), (check, format, list),
           vt_io_stream(stdout))
VT_IO_LIST(__vfprintf_chk, vfprintf, PRINTF, (FILE * f, int check, const char *format, va_list list),
           (f, check, format, list), vt_io_stream(f))
VT_IO_LIST(__vdprintf_chk, vdprintf, PRINTF, (int fd, int check, const char *format, va_list list),
           (fd, check, format, list), vt_io_fd(fd))
VT_IO_ALIAS(_IO_vfprintf, vfprintf)

VT_IO_LIST(vscanf, vscanf, SCANF, (const char *format, va_list list), (format, list), vt_io_stream(stdin))
VT_IO_LIST(vfscanf, vfscanf, SCANF, (FILE * f, const char *format, va_list list), (f, format, list), vt_io_stream(f))
VT_IO_LIST(__isoc99_vscanf, vscanf, SCANF, (const char *format, va_list list), (format, list), vt_io_stream(stdin))
VT_IO_LIST(__isoc99_vfscanf, vfscanf, SCANF, (FILE * f, const char *format, va_list list), (f, format, list),
           vt_io_stream(f))
VT_IO_LIST(__isoc23_vscanf, vscanf, SCANF, (const char *format, va_list list), (format, list), vt_io_stream(stdin))
VT_IO_LIST(__isoc23_vfscanf, vfscanf, SCANF, (FILE * f, const char *format, va_list list), (f, format, list),
           vt_io_stream(f))
VT_IO_ALIAS(__vfscanf, vfscanf)

/* The variadic functions: each has a region of its own and calls the function above. */
#define VT_IO_VARIADIC(symbol, shown, by, params, named, args, list_params, kind, handle)                              \
    VT_IO_EXPORT(symbol, shown, FILE_IO, int, params)                                                                  \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        int r;                                                                                                         \
        uint32_t region = 0;                                                                                           \
        va_start(list, named);                                                                                         \
        if (vt_io_is_off()) r = ((int(*) list_params)vt_io_f_##by.next)args;                                           \
        else if (!(region = vt_io_begin(&vt_io_f_##symbol))) {                                                         \
            r = ((int(*) list_params)vt_io_next(&vt_io_f_##by))args;                                                   \
        } else {                                                                                                       \
            struct vt_io_transfer t = vt_io_transfer(region, handle, MODE(kind), VT_IO_UNKNOWN);                       \
            r = ((int(*) list_params)vt_io_next(&vt_io_f_##by))args;                                                   \
            formatted(&t, kind, r);                                                                                    \
        }                                                                                                              \
        va_end(list);                                                                                                  \
        return r;                                                                                                      \
    }

VT_IO_VARIADIC(printf, printf, vprintf, (const char *format, ...), format, (format, list), (const char *, va_list),
               PRINTF, vt_io_stream(stdout))
VT_IO_VARIADIC(fprintf, fprintf, vfprintf, (FILE * f, const char *format, ...), format, (f, format, list),
               (FILE *, const char *, va_list), PRINTF, vt_io_stream(f))
VT_IO_VARIADIC(dprintf, dprintf, vdprintf, (int fd, const char *format, ...), format, (fd, format, list),
               (int, const char *, va_list), PRINTF, vt_io_fd(fd))
VT_IO_VARIADIC(__printf_chk, printf, __vprintf_chk, (int check, const char *format, ...), format, (check, format, list),
               (int, const char *, va_list), PRINTF, vt_io_stream(stdout))
VT_IO_VARIADIC(__fprintf_chk, fprintf, __vfprintf_chk, (FILE * f, int check, const char *format, ...), format,
               (f, check, format, list), (FILE *, int, const char *, va_list), PRINTF, vt_io_stream(f))
VT_IO_VARIADIC(__dprintf_chk, dprintf, __vdprintf_chk, (int fd, int check, const char *format, ...), format,
               (fd, check, format, list), (int, int, const char *, va_list), PRINTF, vt_io_fd(fd))
VT_IO_ALIAS(_IO_printf, printf)
VT_IO_ALIAS(_IO_fprintf, fprintf)

VT_IO_VARIADIC(scanf, scanf, vscanf, (const char *format, ...), format, (format, list), (const char *, va_list), SCANF,
               vt_io_stream(stdin))
VT_IO_VARIADIC(fscanf, fscanf, vfscanf, (FILE * f, const char *format, ...), format, (f, format, list),
               (FILE *, const char *, va_list), SCANF, vt_io_stream(f))
VT_IO_VARIADIC(__isoc99_scanf, scanf, __isoc99_vscanf, (const char *format, ...), format, (format, list),
               (const char *, va_list), SCANF, vt_io_stream(stdin))
VT_IO_VARIADIC(__isoc99_fscanf, fscanf, __isoc99_vfscanf, (FILE * f, const char *format, ...), format,
               (f, format, list), (FILE *, const char *, va_list), SCANF, vt_io_stream(f))
VT_IO_VARIADIC(__isoc23_scanf, scanf, __isoc23_vscanf, (const char *format, ...), format, (format, list),
               (const char *, va_list), SCANF, vt_io_stream(stdin))
VT_IO_VARIADIC(__isoc23_fscanf, fscanf, __isoc23_vfscanf, (FILE * f, const char *format, ...), format,
               (f, format, list), (FILE *, const char *, va_list), SCANF, vt_io_stream(f))

/* ---- Wide characters ---- */

#define W const wchar_t *format
VT_IO_LIST(vwprintf, vwprintf, WPRINTF, (W, va_list list), (format, list), vt_io_stream(stdout))
VT_IO_LIST(vfwprintf, vfwprintf, WPRINTF, (FILE * f, W, va_list list), (f, format, list), vt_io_stream(f))
VT_IO_LIST(__vwprintf_chk, vwprintf, WPRINTF, (int check, W, va_list list), (check, format, list), vt_io_stream(stdout))
VT_IO_LIST(__vfwprintf_chk, vfwprintf, WPRINTF, (FILE * f, int check, W, va_list list), (f, check, format, list),
           vt_io_stream(f))
VT_IO_LIST(vwscanf, vwscanf, SCANF, (W, va_list list), (format, list), vt_io_stream(stdin))
VT_IO_LIST(vfwscanf, vfwscanf, SCANF, (FILE * f, W, va_list list), (f, format, list), vt_io_stream(f))
VT_IO_LIST(__isoc99_vwscanf, vwscanf, SCANF, (W, va_list list), (format, list), vt_io_stream(stdin))
VT_IO_LIST(__isoc99_vfwscanf, vfwscanf, SCANF, (FILE * f, W, va_list list), (f, format, list), vt_io_stream(f))
VT_IO_LIST(__isoc23_vwscanf, vwscanf, SCANF, (W, va_list list), (format, list), vt_io_stream(stdin))
VT_IO_LIST(__isoc23_vfwscanf, vfwscanf, SCANF, (FILE * f, W, va_list list), (f, format, list), vt_io_stream(f))

VT_IO_VARIADIC(wprintf, wprintf, vwprintf, (W, ...), format, (format, list), (W, va_list), WPRINTF,
               vt_io_stream(stdout))
VT_IO_VARIADIC(fwprintf, fwprintf, vfwprintf, (FILE * f, W, ...), format, (f, format, list), (FILE *, W, va_list),
               WPRINTF, vt_io_stream(f))
VT_IO_VARIADIC(wscanf, wscanf, vwscanf, (W, ...), format, (format, list), (W, va_list), SCANF, vt_io_stream(stdin))
VT_IO_VARIADIC(fwscanf, fwscanf, vfwscanf, (FILE * f, W, ...), format, (f, format, list), (FILE *, W, va_list), SCANF,
               vt_io_stream(f))
VT_IO_VARIADIC(__isoc99_wscanf, wscanf, __isoc99_vwscanf, (W, ...), format, (format, list), (W, va_list), SCANF,
               vt_io_stream(stdin))
VT_IO_VARIADIC(__isoc99_fwscanf, fwscanf, __isoc99_vfwscanf, (FILE * f, W, ...), format, (f, format, list),
               (FILE *, W, va_list), SCANF, vt_io_stream(f))
VT_IO_VARIADIC(__isoc23_wscanf, wscanf, __isoc23_vwscanf, (W, ...), format, (format, list), (W, va_list), SCANF,
               vt_io_stream(stdin))
VT_IO_VARIADIC(__isoc23_fwscanf, fwscanf, __isoc23_vfwscanf, (FILE * f, W, ...), format, (f, format, list),
               (FILE *, W, va_list), SCANF, vt_io_stream(f))
VT_IO_VARIADIC(__wprintf_chk, wprintf, __vwprintf_chk, (int check, W, ...), format, (check, format, list),
               (int, W, va_list), WPRINTF, vt_io_stream(stdout))
VT_IO_VARIADIC(__fwprintf_chk, fwprintf, __vfwprintf_chk, (FILE * f, int check, W, ...), format,
               (f, check, format, list), (FILE *, int, W, va_list), WPRINTF, vt_io_stream(f))
