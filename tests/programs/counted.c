/* SPDX-License-Identifier: BSD-3-Clause */
/* counted FILE THREADS LIMIT: each thread (at least one, besides the main thread) calls work up to LIMIT times and
   counts each finished call in its own long of FILE. FILE is mapped, so the count outlives the process. Between two
   calls there is a pause of about a microsecond. */
#include "program.h"

static volatile long sink;
static long limit;

KEEP void work(long i)
{
    sink = i;
}

static QUIET void *body(void *arg)
{
    _Atomic long *count = arg;
    for (long i = 0; i < limit; i++) {
        work(i);
        atomic_store_explicit(count, i + 1, memory_order_release);
        for (int k = 0; k < 2000; k++)
            sink = k;
    }
    for (;;)
        pause();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    int fd = open(argv[1], O_RDWR | O_CREAT, 0644), n = atoi(argv[2]);
    limit = atol(argv[3]);
    if (fd < 0 || ftruncate(fd, 4096))
        return 1;
    _Atomic long *counts = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (counts == MAP_FAILED)
        return 1;
    for (int i = 0; i < n; i++) {
        pthread_t thread;
        pthread_create(&thread, 0, body, (void *)(counts + i));
    }
    for (;;)
        pause();
    return 0;
}
