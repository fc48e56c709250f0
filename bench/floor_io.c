/* SPDX-License-Identifier: BSD-3-Clause */
/* The floor of I/O calls: preloaded wrappers of the same functions. They only read the clock before and after the call,
   and store as many words as vtrace's records into a mapping of the same kind. */
#include "mapping.h"
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/uio.h>
#include "now.h"

static int (*next_fputc)(int, FILE *);
static int (*next_vfprintf)(FILE *, const char *, va_list);
static ssize_t (*next_read)(int, void *, size_t);
static ssize_t (*next_pread)(int, void *, size_t, off_t);
static ssize_t (*next_writev)(int, const struct iovec *, int);

__attribute__((constructor)) static void find(void)
{
    *(void **)&next_fputc = dlsym(RTLD_NEXT, "fputc");
    *(void **)&next_vfprintf = dlsym(RTLD_NEXT, "vfprintf");
    *(void **)&next_read = dlsym(RTLD_NEXT, "read");
    *(void **)&next_pread = dlsym(RTLD_NEXT, "pread");
    *(void **)&next_writev = dlsym(RTLD_NEXT, "writev");
}

int fputc(int c, FILE *f)
{
    store(now(), 3);
    int r = next_fputc(c, f);
    store(now(), 3);
    return r;
}

int fprintf(FILE *f, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    store(now(), 3);
    int r = next_vfprintf(f, format, values);
    store(now(), 3);
    va_end(values);
    return r;
}

ssize_t read(int from, void *to, size_t n)
{
    store(now(), 3);
    ssize_t r = next_read(from, to, n);
    store(now(), 3);
    return r;
}

ssize_t pread(int from, void *to, size_t n, off_t position)
{
    store(now(), 5);
    ssize_t r = next_pread(from, to, n, position);
    store(now(), 3);
    return r;
}

ssize_t writev(int to, const struct iovec *iov, int n)
{
    store(now(), 3);
    ssize_t r = next_writev(to, iov, n);
    store(now(), 3);
    return r;
}
