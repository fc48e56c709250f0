/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory shim under a sanitizer. Its functions have other names here, since the sanitizer's malloc must come first
   in the program. Threads allocate blocks that others free, and end while others begin. Prints ok. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#define malloc traced_malloc
#define calloc traced_calloc
#define realloc traced_realloc
#define free traced_free
#define memalign traced_memalign
#define posix_memalign traced_posix_memalign
#define valloc traced_valloc
#define aligned_alloc traced_aligned_alloc
#define pvalloc traced_pvalloc
#define reallocarray traced_reallocarray
#define malloc_usable_size traced_malloc_usable_size
#include "memwrap/memwrap.c"

#define AT_ONCE 8
#define ROUNDS 6
#define BLOCKS 500
#define SHELVES 64

/* The sampler's unwinder is not part of this program: a site is the innermost call. */
void vt_allocation_sites_begin(void) {}
uint32_t vt_allocation_site(uintptr_t caller) { return vt_call_site(caller, 1); }

static _Atomic(void *) shelves[SHELVES]; /* blocks that any thread may free */

static void put(unsigned at, void *block) { free(atomic_exchange(&shelves[at % SHELVES], block)); }

static void *body(void *number)
{
    for (unsigned i = 0; i < BLOCKS; i++) {
        const unsigned at = i * 7 + (unsigned)(uintptr_t)number;
        put(at, malloc(at % 300));
        put(at + 1, calloc(at % 9 + 1, 8));
        put(at + 2, realloc(atomic_exchange(&shelves[at % SHELVES], NULL), at % 1000 + 1));
        void *aligned = NULL;
        if (!posix_memalign(&aligned, 64, 100)) put(at + 3, aligned);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread[AT_ONCE];
    for (int round = 0; round < ROUNDS; round++) {
        for (uintptr_t i = 0; i < AT_ONCE; i++)
            if (pthread_create(&thread[i], NULL, body, (void *)i)) return 1;
        for (int i = 0; i < AT_ONCE; i++) pthread_join(thread[i], NULL);
    }
    for (unsigned i = 0; i < SHELVES; i++) put(i, NULL);
    vt_sums_collect();
    if (vt_sums_own()->recorded_bytes == VT_NEVER) return puts("nothing was recorded"), 1;
    puts("ok");
    return 0;
}
