/* SPDX-License-Identifier: BSD-3-Clause */
/* printf and scanf. Arguments that may be of any kind go on as a va_list, to the function that takes one. */
#include <stdarg.h>
#include "iowrap.h"

/* A call that writes what it returns. */
#define VT_IO_VPRINTF(symbol, shown, params, args, handle)                                                             \
    VT_IO_DEFINE(symbol, shown, FILE_IO, int, params, args)                                                            \
    {                                                                                                                  \
        VT_IO_BEGIN(symbol, int, params, args)                                                                         \
        struct vt_io_transfer t = vt_io_transfer(region, handle, VT_IO_WRITE, VT_IO_UNKNOWN);                          \
        const int r = VT_IO_NEXT(symbol, int, params) args;                                                            \
        vt_io_transferred(&t, r > 0 ? (uint64_t)r : 0, r < 0);                                                         \
        return r;                                                                                                      \
    }

VT_IO_VPRINTF(vprintf, vprintf, (const char *format, va_list list), (format, list), vt_io_stream(stdout))
VT_IO_VPRINTF(vfprintf, vfprintf, (FILE * f, const char *format, va_list list), (f, format, list), vt_io_stream(f))
VT_IO_VPRINTF(vdprintf, vdprintf, (int fd, const char *format, va_list list), (fd, format, list), vt_io_fd(fd))
VT_IO_VPRINTF(__vprintf_chk, vprintf, (int check, const char *format, va_list list), (check, format, list),
              vt_io_stream(stdout))
VT_IO_VPRINTF(__vfprintf_chk, vfprintf, (FILE * f, int check, const char *format, va_list list),
              (f, check, format, list), vt_io_stream(f))
VT_IO_VPRINTF(__vdprintf_chk, vdprintf, (int fd, int check, const char *format, va_list list),
              (fd, check, format, list), vt_io_fd(fd))
VT_IO_ALIAS(_IO_vfprintf, vfprintf)

/* How many bytes scanf reads is not known. It ends with EOF at the end of the file too. */
#define VT_IO_VSCANF(symbol, shown, params, args, f)                                                                   \
    VT_IO_DEFINE(symbol, shown, FILE_IO, int, params, args)                                                            \
    {                                                                                                                  \
        VT_IO_BEGIN(symbol, int, params, args)                                                                         \
        struct vt_io_transfer t = vt_io_transfer(region, vt_io_stream(f), VT_IO_READ, VT_IO_UNKNOWN);                  \
        const int r = VT_IO_NEXT(symbol, int, params) args;                                                            \
        vt_io_transferred(&t, r == EOF ? 0 : VT_IO_UNKNOWN, false);                                                    \
        return r;                                                                                                      \
    }

VT_IO_VSCANF(vscanf, vscanf, (const char *format, va_list list), (format, list), stdin)
VT_IO_VSCANF(vfscanf, vfscanf, (FILE * f, const char *format, va_list list), (f, format, list), f)
VT_IO_VSCANF(__isoc99_vscanf, vscanf, (const char *format, va_list list), (format, list), stdin)
VT_IO_VSCANF(__isoc99_vfscanf, vfscanf, (FILE * f, const char *format, va_list list), (f, format, list), f)
VT_IO_VSCANF(__isoc23_vscanf, vscanf, (const char *format, va_list list), (format, list), stdin)
VT_IO_VSCANF(__isoc23_vfscanf, vfscanf, (FILE * f, const char *format, va_list list), (f, format, list), f)
VT_IO_ALIAS(__vfscanf, vfscanf)

/* The same calls with the arguments themselves: a region of their own, and the function above does the work. */
#define VT_IO_VARIADIC(symbol, shown, by, params, named, args, list_params, mode, handle)                              \
    VT_IO_EXPORT(symbol, shown, FILE_IO, int, params)                                                                  \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        int r;                                                                                                         \
        uint32_t region = 0;                                                                                           \
        va_start(list, named);                                                                                         \
        if (vt_io_is_off()) r = ((int(*) list_params)vt_io_f_##by.next)args;                                           \
        else if (!(region = vt_io_begin(&vt_io_f_##symbol))) {                                                         \
            r = ((int(*) list_params)vt_io_behind(&vt_io_f_##by))args;                                                 \
        } else {                                                                                                       \
            struct vt_io_transfer t = vt_io_transfer(region, handle, VT_IO_##mode, VT_IO_UNKNOWN);                     \
            r = ((int(*) list_params)vt_io_behind(&vt_io_f_##by))args;                                                 \
            if (VT_IO_##mode == VT_IO_WRITE) vt_io_transferred(&t, r > 0 ? (uint64_t)r : 0, r < 0);                    \
            else vt_io_transferred(&t, r == EOF ? 0 : VT_IO_UNKNOWN, false);                                           \
        }                                                                                                              \
        va_end(list);                                                                                                  \
        return r;                                                                                                      \
    }

VT_IO_VARIADIC(printf, printf, vprintf, (const char *format, ...), format, (format, list), (const char *, va_list),
               WRITE, vt_io_stream(stdout))
VT_IO_VARIADIC(fprintf, fprintf, vfprintf, (FILE * f, const char *format, ...), format, (f, format, list),
               (FILE *, const char *, va_list), WRITE, vt_io_stream(f))
VT_IO_VARIADIC(dprintf, dprintf, vdprintf, (int fd, const char *format, ...), format, (fd, format, list),
               (int, const char *, va_list), WRITE, vt_io_fd(fd))
VT_IO_VARIADIC(__printf_chk, printf, __vprintf_chk, (int check, const char *format, ...), format, (check, format, list),
               (int, const char *, va_list), WRITE, vt_io_stream(stdout))
VT_IO_VARIADIC(__fprintf_chk, fprintf, __vfprintf_chk, (FILE * f, int check, const char *format, ...), format,
               (f, check, format, list), (FILE *, int, const char *, va_list), WRITE, vt_io_stream(f))
VT_IO_VARIADIC(__dprintf_chk, dprintf, __vdprintf_chk, (int fd, int check, const char *format, ...), format,
               (fd, check, format, list), (int, int, const char *, va_list), WRITE, vt_io_fd(fd))
VT_IO_ALIAS(_IO_printf, printf)
VT_IO_ALIAS(_IO_fprintf, fprintf)

VT_IO_VARIADIC(scanf, scanf, vscanf, (const char *format, ...), format, (format, list), (const char *, va_list), READ,
               vt_io_stream(stdin))
VT_IO_VARIADIC(fscanf, fscanf, vfscanf, (FILE * f, const char *format, ...), format, (f, format, list),
               (FILE *, const char *, va_list), READ, vt_io_stream(f))
VT_IO_VARIADIC(__isoc99_scanf, scanf, __isoc99_vscanf, (const char *format, ...), format, (format, list),
               (const char *, va_list), READ, vt_io_stream(stdin))
VT_IO_VARIADIC(__isoc99_fscanf, fscanf, __isoc99_vfscanf, (FILE * f, const char *format, ...), format,
               (f, format, list), (FILE *, const char *, va_list), READ, vt_io_stream(f))
VT_IO_VARIADIC(__isoc23_scanf, scanf, __isoc23_vscanf, (const char *format, ...), format, (format, list),
               (const char *, va_list), READ, vt_io_stream(stdin))
VT_IO_VARIADIC(__isoc23_fscanf, fscanf, __isoc23_vfscanf, (FILE * f, const char *format, ...), format,
               (f, format, list), (FILE *, const char *, va_list), READ, vt_io_stream(f))
