/* SPDX-License-Identifier: BSD-3-Clause */
/* Each function of libc that reads or writes wide characters, under each of its names. */
#define _GNU_SOURCE
#include <locale.h>
#include <wchar.h>
#include "io.h"

/* Names that headers substitute, or that no header declares. */
#define SCAN(name)                                                                                                     \
    extern int plain_##name(const wchar_t *, ...) __asm__(#name);                                                      \
    extern int plain_f##name(FILE *, const wchar_t *, ...) __asm__("f" #name);                                         \
    extern int c99_##name(const wchar_t *, ...) __asm__("__isoc99_" #name);                                            \
    extern int c99_f##name(FILE *, const wchar_t *, ...) __asm__("__isoc99_f" #name);
SCAN(wscanf)
extern int plain_vwscanf(const wchar_t *, va_list) __asm__("vwscanf");
extern int plain_vfwscanf(FILE *, const wchar_t *, va_list) __asm__("vfwscanf");
extern int c99_vwscanf(const wchar_t *, va_list) __asm__("__isoc99_vwscanf");
extern int c99_vfwscanf(FILE *, const wchar_t *, va_list) __asm__("__isoc99_vfwscanf");
extern wchar_t *__fgetws_chk(wchar_t *, size_t, int, FILE *), *__fgetws_unlocked_chk(wchar_t *, size_t, int, FILE *);
extern int __wprintf_chk(int, const wchar_t *, ...), __fwprintf_chk(FILE *, int, const wchar_t *, ...);
extern int __vwprintf_chk(int, const wchar_t *, va_list), __vfwprintf_chk(FILE *, int, const wchar_t *, va_list);

/* The variants with a va_list. */
#define LIST(name, call)                                                                                               \
    static int list_##name(FILE *f, const wchar_t *format, ...)                                                        \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        va_start(list, format);                                                                                        \
        int r = call;                                                                                                  \
        va_end(list);                                                                                                  \
        return r;                                                                                                      \
    }
LIST(vwprintf, vwprintf(format, list))
LIST(vfwprintf, vfwprintf(f, format, list))
LIST(vwprintf_chk, __vwprintf_chk(1, format, list))
LIST(vfwprintf_chk, __vfwprintf_chk(f, 1, format, list))
LIST(vwscanf, plain_vwscanf(format, list))
LIST(vfwscanf, plain_vfwscanf(f, format, list))
LIST(c99_vwscanf, c99_vwscanf(format, list))
LIST(c99_vfwscanf, c99_vfwscanf(f, format, list))

static wchar_t line[100];
static int n;

static void writing(FILE *f)
{
    CALL(REAL(fputwc)(L'\xe4', f) == L'\xe4', "fputwc w:wide:?:?");
    CALL(REAL(putwc)(L'b', f) == L'b', "putwc w:wide:?:?");
    CALL(REAL(fputwc_unlocked)(L'c', f) == L'c', "fputwc_unlocked w:wide:?:?");
    CALL(REAL(putwc_unlocked)(L'd', f) == L'd', "putwc_unlocked w:wide:?:?");
    CALL(REAL(fputws)(L"efg\nhij\n", f) >= 0, "fputws w:wide:?:?");
    CALL(REAL(fputws_unlocked)(L"k\nlm\nn", f) >= 0, "fputws_unlocked w:wide:?:?");
    CALL(REAL(fwprintf)(f, L"%d ", 7) == 2, "fwprintf w:wide:?:?");
    CALL(__fwprintf_chk(f, 1, L"%d ", 8) == 2, "fwprintf w:wide:?:?");
    CALL(list_vfwprintf(f, L"%d ", 9) == 2, "vfwprintf w:wide:?:?");
    CALL(list_vfwprintf_chk(f, L"%d ", 10) == 3, "vfwprintf w:wide:?:?");
    CALL(REAL(fgetwc)(f) == WEOF, "fgetwc r:wide:?:0 !%d", EBADF);
}

static void reading(FILE *f)
{
    CALL(REAL(fgetwc)(f) == L'\xe4', "fgetwc r:wide:?:?");
    CALL(REAL(getwc)(f) == L'b', "getwc r:wide:?:?");
    CALL(REAL(ungetwc)(L'b', f) == L'b', "ungetwc");
    CALL(REAL(fgetwc_unlocked)(f) == L'b', "fgetwc_unlocked r:wide:?:?");
    CALL(REAL(getwc_unlocked)(f) == L'c', "getwc_unlocked r:wide:?:?");
    CALL(REAL(fgetws)(line, 100, f), "fgetws r:wide:?:?");
    CALL(__fgetws_chk(line, 100, 100, f), "fgetws r:wide:?:?");
    CALL(REAL(fgetws_unlocked)(line, 100, f), "fgetws_unlocked r:wide:?:?");
    CALL(__fgetws_unlocked_chk(line, 100, 100, f), "fgetws_unlocked r:wide:?:?");
    CALL(plain_fwscanf(f, L"n%d", &n) == 1 && n == 7, "fwscanf r:wide:?:?");
    CALL(c99_fwscanf(f, L"%d", &n) == 1 && n == 8, "fwscanf r:wide:?:?");
    CALL(list_vfwscanf(f, L"%d", &n) == 1 && n == 9, "vfwscanf r:wide:?:?");
    CALL(list_c99_vfwscanf(f, L"%d ", &n) == 1 && n == 10, "vfwscanf r:wide:?:?");
    CALL(plain_fwscanf(f, L"%d", &n) == EOF, "fwscanf r:wide:?:0");
    CALL(REAL(fgetwc)(f) == WEOF, "fgetwc r:wide:?:0");
    CALL(!REAL(fgetws)(line, 100, f), "fgetws r:wide:?:0");
    CALL(REAL(fputwc)(L'x', f) == WEOF, "fputwc w:wide:?:0 !%d", EBADF);
    CALL(REAL(fputws)(L"x", f) == EOF, "fputws w:wide:?:0 !%d", EBADF);
}

static void standard(void)
{
    CALL(freopen("out", "w", stdout), "freopen -stdout -stdout +out +out");
    CALL(REAL(putwchar)(L'p') == L'p', "putwchar w:out:?:?");
    CALL(REAL(putwchar_unlocked)(L'q') == L'q', "putwchar_unlocked w:out:?:?");
    CALL(REAL(wprintf)(L"%d ", 1) == 2, "wprintf w:out:?:?");
    CALL(__wprintf_chk(1, L"%d ", 2) == 2, "wprintf w:out:?:?");
    CALL(list_vwprintf(NULL, L"%d ", 3) == 2, "vwprintf w:out:?:?");
    CALL(list_vwprintf_chk(NULL, L"%d ", 4) == 2, "vwprintf w:out:?:?");
    CALL(!fflush(stdout), "fflush f:out:?:?");
    CALL(freopen("out", "r", stdin), "freopen -stdin -stdin +out +out");
    CALL(REAL(getwchar)() == L'p', "getwchar r:out:?:?");
    CALL(REAL(getwchar_unlocked)() == L'q', "getwchar_unlocked r:out:?:?");
    CALL(plain_wscanf(L"%d", &n) == 1 && n == 1, "wscanf r:out:?:?");
    CALL(c99_wscanf(L"%d", &n) == 1 && n == 2, "wscanf r:out:?:?");
    CALL(list_vwscanf(NULL, L"%d", &n) == 1 && n == 3, "vwscanf r:out:?:?");
    CALL(list_c99_vwscanf(NULL, L"%d", &n) == 1 && n == 4, "vwscanf r:out:?:?");
}

int main(void)
{
    FILE *f;
    MUST(setlocale(LC_ALL, "C.UTF-8"));
    CALL(f = fopen("wide", "w"), "fopen +wide +wide");
    writing(f);
    CALL(!fclose(f), "fclose -wide -wide");
    CALL(f = fopen("wide", "r"), "fopen +wide +wide");
    reading(f);
    CALL(!fclose(f), "fclose -wide -wide");
    standard();
    tell();
    return 0;
}
