/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings and messages without stdio: a signal handler may interrupt the program inside stdio. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "system.h"

struct vt_text vt_text_into(char *memory, size_t bytes)
{
    struct vt_text t = {memory, memory + bytes - 1};
    *memory = 0;
    return t;
}

void vt_text_add_all(struct vt_text *t, const char *const *strings)
{
    for (const char *s; (s = *strings); strings++)
        while (*s && t->at < t->end) *t->at++ = *s++;
    *t->at = 0;
}

char *vt_text_trim(char *s)
{
    char *end = s + strlen(s);
    while (*s == ' ' || *s == '\t') s++;
    while (end > s && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) end--;
    *end = 0;
    return s;
}

/* The bytes of the character at s; 0 for a control character and for bytes that are not UTF-8. */
static unsigned shown(const char *s)
{
    const unsigned char *c = (const unsigned char *)s;
    if (*c < 0x80) return *c >= ' ' && *c != 127;
    unsigned n = *c < 0xc2 || *c > 0xf4 ? 0 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : 4;
    for (unsigned i = 1; i < n; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    return *c == 0xc2 && c[1] < 0xa0 ? 0 : n;
}

void vt_text_word(struct vt_text *t, const char *s)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    char one[5] = "";
    const char *odd = s;
    for (unsigned n; (n = shown(odd)); odd += n) {}
    if (*s == '-') vt_text_add(t, "./"); /* not an option */
    if (!s[strspn(s, plain)]) {
        vt_text_add(t, s);
        return;
    }
    vt_text_add(t, *odd ? "$'" : "'"); /* bash's, zsh's and POSIX.1-2024's way to write any byte */
    for (unsigned n; *s; s += n) {
        n = shown(s);
        memcpy(one, s, n);
        one[n] = 0;
        if (!n) {
            const unsigned char c = (unsigned char)*s;
            const char octal[5] = {'\\', (char)('0' + (c >> 6)), (char)('0' + ((c >> 3) & 7)), (char)('0' + (c & 7)),
                                   0};
            vt_text_add(t, octal);
            n = 1;
        } else if (*s == '\'') vt_text_add(t, *odd ? "\\'" : "'\\''");
        else vt_text_add(t, *odd && *s == '\\' ? "\\\\" : one);
    }
    vt_text_add(t, "'");
}

static void add_number(struct vt_text *t, uint64_t v, unsigned base)
{
    char digits[24], *d = digits + sizeof digits - 1;
    *d = 0;
    do *--d = "0123456789abcdef"[v % base];
    while (v /= base);
    vt_text_add(t, d);
}

void vt_text_plain(char *s)
{
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s, next = (unsigned char)s[1];
        if (c == 0xc2 && next >= 0x80 && next < 0xa0) *s = s[1] = '?';
        if (c < ' ' || c == 127) *s = '?';
    }
}

void vt_text_hex(struct vt_text *t, uint64_t v) { add_number(t, v, 16); }
void vt_text_dec(struct vt_text *t, uint64_t v) { add_number(t, v, 10); }

void vt_text_run(struct vt_text *t, const uint8_t run[16])
{
    for (int i = 0; i < 32; i++) vt_text_hex(t, run[i / 2] >> (i % 2 ? 0 : 4) & 15);
}

/* Identity of standard error when the program started. After close(2) the next open of the program returns descriptor
   2; a message must not go into that file. */
static struct stat standard_error;

static int is_standard_error(void)
{
    struct stat now;
    return VT_SYS2(fstat, 2, &now) >= 0 && now.st_ino == standard_error.st_ino && now.st_dev == standard_error.st_dev &&
           now.st_rdev == standard_error.st_rdev;
}

void vt_text_start(void)
{
    if (VT_SYS2(fstat, 2, &standard_error) < 0) standard_error.st_ino = 0;
}

/* Prints a message. The line is not on the stack, which may be the small one of a signal handler. Two threads that
   print at the same time wait for each other. Signals are not blocked: a write to standard error may take long, and the
   program must be able to end. */
static void say(const char *format, va_list args)
{
    static char line[1400] = "vtrace: ";
    static _Atomic uint32_t speaking;
    uint64_t mask;
    int saved = errno;
    for (int i = 0; !vt_try_lock(&speaking); i++) {
        if (i == 1000) return;
        VT_SYS0(sched_yield);
    }
    int n = vsnprintf(line + 8, sizeof line - 10, format, args);
    errno = saved;
    if (n >= 0 && is_standard_error()) {
        size_t length = strlen(line);
        vt_text_plain(line);
        line[length++] = '\n';
        vt_block_signals(VT_WRITE_SIGNALS, &mask);
        vt_written(VT_SYS3(write, 2, line, length));
        vt_release_signals(&mask);
    }
    atomic_store(&speaking, 0);
}

void vt_say(uint64_t level, const char *format, ...)
{
    va_list args;
    if (vt_process.set.verbose < level) return;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

void vt_warn(const char *format, ...)
{
    static const char *_Atomic said[32];
    va_list args;
    if (vt_process.set.verbose < 1) return;
    for (unsigned i = 0; i < sizeof said / sizeof *said; i++) {
        const char *none = NULL;
        if (atomic_compare_exchange_strong(&said[i], &none, format)) break;
        if (none == format) return;
    }
    va_start(args, format);
    say(format, args);
    va_end(args);
}

static char small(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

unsigned vt_text_distance(const char *a, size_t na, const char *b, size_t nb)
{
    uint8_t rows[3][VT_TEXT_NAME], *before = rows[0], *last = rows[1], *row = rows[2];
    if (na >= VT_TEXT_NAME || nb >= VT_TEXT_NAME) return VT_TEXT_NAME;
    for (size_t j = 0; j <= nb; j++) last[j] = (uint8_t)j;
    for (size_t i = 1; i <= na; i++) {
        row[0] = (uint8_t)i;
        for (size_t j = 1; j <= nb; j++) {
            int swaps = i > 1 && j > 1 && small(a[i - 1]) == small(b[j - 2]) && small(a[i - 2]) == small(b[j - 1]);
            unsigned d = last[j - 1] + (small(a[i - 1]) != small(b[j - 1]));
            if (last[j] + 1u < d) d = last[j] + 1u;
            if (row[j - 1] + 1u < d) d = row[j - 1] + 1u;
            if (swaps && before[j - 2] + 1u < d) d = before[j - 2] + 1u;
            row[j] = (uint8_t)d;
        }
        uint8_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[nb];
}

const char *vt_reason(long error)
{
    switch (error) {
    case -ENOSPC: return "no space left";
    case -EDQUOT: return "quota used up";
    case -EFBIG: return "file size limit";
    case -EMFILE:
    case -ENFILE: return "too many open files";
    case -ENOENT: return "no such directory";
    case -EISDIR: return "is a directory";
    case -EEXIST: return "another user has a file of this name";
    case -ENXIO:
    case -ESTALE: return "another file has its name";
    case -ELOOP: return "a symbolic link has its name";
    case -EACCES:
    case -EPERM: return "permission denied";
    case -EROFS: return "read-only file system";
    case -EOPNOTSUPP: return "the file system cannot reserve space";
    case -ENOMEM: return "no memory";
    default: return "input or output error";
    }
}
