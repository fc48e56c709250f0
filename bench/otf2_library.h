/* SPDX-License-Identifier: BSD-3-Clause */
/* libotf2, opened by its path, for floors that call its functions by prototypes of their own. */
#ifndef BENCH_OTF2_LIBRARY_H
#define BENCH_OTF2_LIBRARY_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *lib;

static void *find(const char *name)
{
    void *p = dlsym(lib, name);
    if (!p) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return p;
}

/* The time of a clock in ns. */
static double now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#endif
