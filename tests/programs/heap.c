/* SPDX-License-Identifier: BSD-3-Clause */
/* Each function that allocates, a known number of times; one thread frees blocks of another one. Prints the blocks and
   usable bytes by which the heap grows from begin() to end(). */
#define _GNU_SOURCE
#include <malloc.h>
#include "program.h"

#define EACH 10

static void *kept[8 * EACH];

static KEEP void allocate(void)
{
    void **at = kept;
    for (size_t i = 1; i <= EACH; i++) {
        *at++ = malloc(100 * i);
        *at++ = calloc(i, 30);
        *at++ = memalign(64, 10 * i);
        *at++ = valloc(i);
        *at++ = aligned_alloc(128, 128 * i);
        *at++ = pvalloc(i);
        *at++ = reallocarray(NULL, i, 7);
        if (posix_memalign(at++, 256, i)) abort();
    }
}

static KEEP void grow(void)
{
    for (int i = 0; i < EACH; i++) kept[8 * i] = realloc(kept[8 * i], 5000);
    if (realloc(kept[0], SIZE_MAX / 2)) abort(); /* fails, and the block stays */
    void *none = realloc(NULL, 11);
    if (realloc(none, 0)) abort(); /* frees it */
}

static KEEP void fail(void)
{
    volatile size_t much = SIZE_MAX / 2;
    if (malloc(much) || calloc(much, 4) || reallocarray(NULL, much, 4)) abort();
    free(NULL);
}

static KEEP void *other(void *unused)
{
    (void)unused;
    for (int i = 0; i < 4 * EACH; i++) free(kept[i]);
    void *last = malloc(1000);
    __asm__ volatile(""); /* no tail call */
    return last;
}

static KEEP void begin(void) { __asm__ volatile("# begin"); }
static KEEP void end(void) { __asm__ volatile("# end"); }

static void *nothing(void *unused) { return unused; }

int main(void)
{
    pthread_t thread;
    void *made;
    size_t bytes = 0;
    if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL)) return 1; /* libc keeps its stack */
    begin();
    allocate();
    grow();
    fail();
    if (pthread_create(&thread, NULL, other, NULL) || pthread_join(thread, &made)) return 1;
    end();
    for (int i = 4 * EACH; i < 8 * EACH; i++) bytes += malloc_usable_size(kept[i]);
    bytes += malloc_usable_size(made);
    char line[64];
    int n = snprintf(line, sizeof line, "%d %zu\n", 4 * EACH + 1, bytes);
    return write(STDOUT_FILENO, line, (size_t)n) != n;
}
