/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of 4,000 bytes in 64 steps of 4 ms, which work() allocates: some are never freed, others look as if.
   blocks MODE */
#define _GNU_SOURCE
#include "program.h"

#define STEPS 64
#define EACH 4
#define BYTES 4000
#define MOST (STEPS * EACH)

static void *volatile kept[MOST];
static void *_Atomic handed;
static const char *mode;

static int is(const char *name) { return !strcmp(mode, name); }

static KEEP void pause_shortly(void)
{
    const struct timespec step = {0, 4000000};
    nanosleep(&step, NULL);
}

static KEEP void *spare(void) { return malloc(BYTES); /* SPARE */ }

static KEEP void work(int i)
{
    static uint32_t random = 1;
    if (is("leak")) kept[0] = malloc(BYTES); /* PLANTED: nothing knows the block before */
    else if (is("twins")) {
        kept[0] = malloc(BYTES); /* TWIN */
        free(spare());
    } else if (is("cache")) kept[i] = malloc(BYTES);
    else if (is("half") && i < MOST / 2) kept[i] = malloc(BYTES);
    else if (is("ring")) {
        random = random * 1103515245 + 12345;
        void *volatile *slot = &kept[random >> 16 & 63];
        free(*slot);
        *slot = malloc(BYTES);
    } else if (is("chain")) kept[0] = realloc(kept[0], (size_t)(i + 1) * BYTES);
    else if (is("hand")) {
        while (atomic_load(&handed)) sched_yield();
        atomic_store(&handed, malloc(BYTES));
    }
    free(malloc(100));
}

static QUIET void *take(void *unused)
{
    for (int i = 0; i < MOST; i++) {
        void *block;
        while (!(block = atomic_exchange(&handed, NULL))) sched_yield();
        free(block);
    }
    return unused;
}

static KEEP void fill(int slots)
{
    for (int i = 0; i < slots; i++) kept[i] = malloc(BYTES);
}

static QUIET void empty(void)
{
    for (int i = 0; i < MOST; i++) free(kept[i]);
}

static KEEP void often(int n)
{
    for (int i = 0; i < n; i++) free(malloc(64));
}

int main(int argc, char **argv)
{
    pthread_t taker;
    pid_t child = 1;
    if (argc < 2) return 2;
    mode = argv[1];
    if (is("once") || is("fork")) fill(MOST);
    if (is("ring")) fill(64);
    if (is("hand") && pthread_create(&taker, NULL, take, NULL)) return 1;
    if (is("fork")) child = fork();
    if (is("often")) often(200000);
    else
        for (int i = 0; i < MOST; i++) {
            work(i);
            if (i % EACH == EACH - 1) pause_shortly();
        }
    if (is("hand")) pthread_join(taker, NULL);
    if (is("cache") || is("fork")) empty();
    if (!child) _exit(0);
    if (is("fork")) wait(NULL);
    return 0;
}
