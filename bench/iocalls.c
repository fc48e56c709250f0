/* SPDX-License-Identifier: BSD-3-Clause */
/* iocalls THREADS CALLS PASSES: prints the ns per call of fputc, fprintf of a number, read and pread of one byte, and
   writev of two bytes: the best pass of the slowest thread. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FPUTC, FPRINTF, READ, PREAD, WRITEV, KINDS };

static long calls, passes;
static pthread_barrier_t together;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double measure(int kind, int fd, FILE *f)
{
    char c = 0;
    struct iovec two[2] = {{&c, 1}, {&c, 1}};
    double begin = now();
    for (long i = 0; i < calls; i++) {
        if (kind == FPUTC) fputc('x', f);
        else if (kind == FPRINTF) fprintf(f, "%d", 7);
        else if (kind == READ) c += (char)read(fd, &c, 1);
        else if (kind == PREAD) c += (char)pread(fd, &c, 1, 0);
        else c += (char)writev(fileno(f), two, 2);
    }
    return (now() - begin) / (double)calls + (c == 99);
}

static void *work(void *best)
{
    FILE *f = fopen("/dev/null", "w");
    int fd = open("/dev/zero", O_RDONLY);
    if (!f || fd < 0) exit(1);
    for (long pass = 0; pass < passes; pass++)
        for (int kind = 0; kind < KINDS; kind++) {
            pthread_barrier_wait(&together);
            double took = measure(kind, fd, f);
            double *least = (double *)best + kind;
            if (!pass || took < *least) *least = took;
        }
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    double best[16][KINDS];
    pthread_t others[16];
    calls = argc > 2 ? atol(argv[2]) : 2000;
    passes = argc > 3 ? atol(argv[3]) : 300;
    if (threads < 1 || threads > 16) return 1;
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    for (int i = 1; i < threads; i++) pthread_create(&others[i], NULL, work, best[i]);
    work(best[0]);
    for (int i = 1; i < threads; i++) pthread_join(others[i], NULL);
    for (int kind = 0; kind < KINDS; kind++) {
        double slowest = 0;
        for (int i = 0; i < threads; i++) slowest = best[i][kind] > slowest ? best[i][kind] : slowest;
        printf("%.2f\n", slowest);
    }
    return 0;
}
