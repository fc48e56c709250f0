/* SPDX-License-Identifier: BSD-3-Clause */
/* The floor of a recorded malloc or free: preloaded wrappers. They only read the clock before and after the call, and
   store as many words as vtrace's records into a mapping of the same kind. */
#include "mapping.h"
#include <dlfcn.h>
#include <stddef.h>
#include "now.h"

static void *(*next_malloc)(size_t);
static void (*next_free)(void *);

__attribute__((constructor)) static void find(void)
{
    *(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&next_free = dlsym(RTLD_NEXT, "free");
}

void *malloc(size_t n)
{
    if (!next_malloc) find();
    store(now(), 2);
    void *block = next_malloc(n);
    store(now(), 4);
    return block;
}

void free(void *block)
{
    if (!next_free) find();
    store(now(), 5);
    next_free(block);
    store(now(), 1);
}
