/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings and messages without stdio, which the traced program may be in the middle of. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "internal.h"

struct vt_text vt_text_into(char *memory, size_t bytes)
{
    struct vt_text t = {memory, memory + bytes - 1};
    *memory = 0;
    return t;
}

void vt_text_add(struct vt_text *t, const char *s)
{
    while (*s && t->at < t->end) *t->at++ = *s++;
    *t->at = 0;
}

static void add_number(struct vt_text *t, uint64_t v, unsigned base)
{
    char digits[24], *d = digits + sizeof digits - 1;
    *d = 0;
    do *--d = "0123456789abcdef"[v % base];
    while (v /= base);
    vt_text_add(t, d);
}

void vt_text_hex(struct vt_text *t, uint64_t v) { add_number(t, v, 16); }
void vt_text_dec(struct vt_text *t, uint64_t v) { add_number(t, v, 10); }

long vt_read_file(const char *path, char *into, size_t bytes)
{
    long fd = VT_SYS4(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0), n = 0, got;
    if (fd < 0) return fd;
    while ((size_t)n < bytes - 1 && (got = VT_SYS3(read, fd, into + n, bytes - 1 - (size_t)n)) > 0) n += got;
    VT_SYS1(close, fd);
    into[n] = 0;
    return n;
}

/* Not on the stack, which may be a signal handler's small one. Two threads that speak at once wait for each other. */
static void say(const char *format, va_list args)
{
    static char line[1400] = "vtrace: ";
    static _Atomic int speaking;
    uint64_t mask;
    int saved = errno, free = 0;
    for (int i = 0; !atomic_compare_exchange_strong(&speaking, &free, 1); i++, free = 0) {
        if (i == 1000) return;
        VT_SYS0(sched_yield);
    }
    int n = vsnprintf(line + 8, sizeof line - 10, format, args);
    errno = saved;
    if (n >= 0) {
        size_t length = strlen(line);
        line[length++] = '\n';
        vt_hold_signals(&mask);
        VT_SYS3(write, 2, line, length);
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
