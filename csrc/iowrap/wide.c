/* SPDX-License-Identifier: BSD-3-Clause */
/* Wide characters of streams. libc does not return their number of bytes in the encoding of the file. The records show
   0 bytes if a call fails or meets the end of the file, else an unknown number. */
#define _GNU_SOURCE
#include <wchar.h>
#include "iowrap.h"

static void transferred(const struct vt_io_transfer *t, bool some, bool failed)
{
    vt_io_transferred(t, some ? VT_IO_UNKNOWN : 0, failed);
}

/* none: true if a result r means 0 bytes. A read has failed only if its stream has an error. */
#define VT_IO_WIDE(symbol, shown, mode, type, params, args, f, none)                                                   \
    VT_IO_DEFINE(symbol, shown, FILE_IO, type, params, args)                                                           \
    {                                                                                                                  \
        VT_IO_BEGIN(symbol, type, params, args)                                                                        \
        FILE *const stream = f;                                                                                        \
        struct vt_io_transfer t = vt_io_transfer(region, vt_io_stream(stream), VT_IO_##mode, VT_IO_UNKNOWN);           \
        type r = VT_IO_NEXT(symbol, type, params) args;                                                                \
        transferred(&t, !(none), (none) && (VT_IO_##mode == VT_IO_WRITE || vt_io_in_error(stream)));                   \
        return r;                                                                                                      \
    }

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
