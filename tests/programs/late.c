/* SPDX-License-Identifier: BSD-3-Clause */
/* late LIBRARY: main 1 -> (a signal handler that interrupts malloc -> entry 1), entry 2. The program has an allocator
   of its own, which exits with 3 if it is called recursively. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "keep.h"

static char arena[1 << 24] __attribute__((aligned(64)));
static size_t used;
static volatile int busy, armed;
static void (*entry)(int);

QUIET void *malloc(size_t bytes)
{
    if (busy) _exit(3);
    busy = 1;
    if (armed) {
        armed = 0;
        raise(SIGUSR1);
    }
    size_t at = used + 16;
    used = (at + bytes + 63) / 16 * 16;
    if (used > sizeof arena) _exit(4);
    memcpy(arena + at - 8, &bytes, 8);
    busy = 0;
    return arena + at;
}

QUIET void free(void *block) { (void)block; }

QUIET void *calloc(size_t n, size_t bytes) { return memset(malloc(n * bytes), 0, n * bytes); }

QUIET void *realloc(void *block, size_t bytes)
{
    size_t had = 0;
    void *more = malloc(bytes);
    if (block) memcpy(&had, (char *)block - 8, 8);
    if (block) memcpy(more, block, had < bytes ? had : bytes);
    return more;
}

QUIET static void on_signal(int number) { entry(number); }

int main(int argc, char **argv)
{
    void *library = dlopen(argv[argc - 1], RTLD_NOW);
    *(void **)&entry = library ? dlsym(library, "entry") : NULL;
    if (!entry) return 1;
    signal(SIGUSR1, on_signal);
    armed = 1;
    void *volatile block = malloc(10);
    for (int i = 0; i < 2; i++) entry(i);
    return block ? 0 : 2;
}
