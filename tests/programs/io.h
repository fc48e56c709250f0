/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that do I/O and print the expected records: one line for each call, in the format of
   tests/support/oracles/io_calls.py. The lines stay in memory until the end, after everything that is recorded. */
#ifndef IO_H
#define IO_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char told[1 << 20];
static size_t told_bytes;

/* One call: its function and its effect. */
__attribute__((format(printf, 1, 2))) static void call(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    told_bytes += (size_t)vsnprintf(told + told_bytes, sizeof told - told_bytes - 2, format, list);
    va_end(list);
    told[told_bytes++] = '\n';
}

/* Prints to descriptor 9 if it is open, else to standard output. */
static void tell(void)
{
    int to = syscall(SYS_fcntl, 9, F_GETFD) < 0 ? 1 : 9;
    for (size_t at = 0; at < told_bytes;) at += (size_t)syscall(SYS_write, to, told + at, told_bytes - at);
}

static int failed(int line, const char *what)
{
    dprintf(2, "line %d: %s: %s\n", line, what, strerror(errno));
    _exit(1);
}

#define MUST(what) (void)((what) || failed(__LINE__, #what))
/* A call that is recorded, and its line. */
#define CALL(what, ...) (MUST(what), call(__VA_ARGS__))

/* The function of libc, without redirection by headers or the compiler. */
static void *volatile as_it_is;
#define REAL(f) ((__typeof__(&f))(as_it_is = (void *)f, as_it_is))

#if defined(_FILE_OFFSET_BITS) && _FILE_OFFSET_BITS == 64
#define BIG(f) f "64" /* the headers turn open into open64 */
#else
#define BIG(f) f
#endif

#endif
