/* SPDX-License-Identifier: BSD-3-Clause */
/* The floor of a recorded malloc or free: a preloaded wrapper that reads the clock before and after the call. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

static void *(*next_malloc)(size_t);
static void (*next_free)(void *);
static _Thread_local volatile uint64_t before, after;

static inline uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_nsec;
#endif
}

__attribute__((constructor)) static void find(void)
{
    *(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&next_free = dlsym(RTLD_NEXT, "free");
}

void *malloc(size_t n)
{
    if (!next_malloc) find();
    before = ticks();
    void *block = next_malloc(n);
    after = ticks();
    return block;
}

void free(void *block)
{
    if (!next_free) find();
    before = ticks();
    next_free(block);
    after = ticks();
}
