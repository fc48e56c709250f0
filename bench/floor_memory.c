/* SPDX-License-Identifier: BSD-3-Clause */
/* The floor of a recorded malloc or free: a preloaded wrapper that reads the clock before and after the call. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include "now.h"

static void *(*next_malloc)(size_t);
static void (*next_free)(void *);
static _Thread_local volatile uint64_t before, after;

__attribute__((constructor)) static void find(void)
{
    *(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&next_free = dlsym(RTLD_NEXT, "free");
}

void *malloc(size_t n)
{
    if (!next_malloc) find();
    before = now();
    void *block = next_malloc(n);
    after = now();
    return block;
}

void free(void *block)
{
    if (!next_free) find();
    before = now();
    next_free(block);
    after = now();
}
