/* SPDX-License-Identifier: BSD-3-Clause */
/* sections_memory: section grow/1 allocates 100 blocks of 1000 bytes and one of 1 MiB, which malloc maps separately,
   and frees half of the small ones; shrink/1 frees the rest; in spread/1 another thread allocates a block, for which
   malloc makes an arena; refuse/1 twice requests more memory than there is. */
#include "fj_tool/fapp.h"
#include "program.h"

#define BLOCKS 100

static void *blocks[BLOCKS], *large, *aligned;
static volatile size_t too_much = SIZE_MAX;

static void *work(void *unused)
{
    blocks[0] = malloc(1000);
    return unused;
}

int main(void)
{
    pthread_t thread;
    fapp_start("grow", 1, 0);
    for (int i = 0; i < BLOCKS; i++) blocks[i] = malloc(1000);
    large = calloc(1 << 10, 1 << 10);
    if (posix_memalign(&aligned, 64, 640)) return 1;
    for (int i = 0; i < BLOCKS / 2; i++) free(blocks[i]);
    fapp_stop("grow", 1, 0);
    fapp_start("shrink", 1, 0);
    for (int i = BLOCKS / 2; i < BLOCKS; i++) free(blocks[i]);
    free(large);
    free(aligned);
    fapp_stop("shrink", 1, 0);
    fapp_start("spread", 1, 0);
    if (pthread_create(&thread, NULL, work, NULL)) return 1;
    pthread_join(thread, NULL);
    fapp_stop("spread", 1, 0);
    fapp_start("refuse", 1, 0);
    for (int i = 0; i < 2; i++)
        if (malloc(too_much)) return 1;
    fapp_stop("refuse", 1, 0);
    return 0;
}
