/* SPDX-License-Identifier: BSD-3-Clause */
/* events KIND CALLS PASSES: prints the ns per call for each pass. KIND function: a tiny function; write: write(2) of 64
   bytes; fgets: fgets; malloc: a pair of malloc and free; with -DMPI, exchange: a message and its answer between two
   ranks; self: a message of a rank to itself. The ns are CPU time, which other programs disturb less; for an exchange,
   elapsed time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef MPI
#include <mpi.h>
#endif

#define PLAIN __attribute__((no_instrument_function))

static clockid_t clock_used = CLOCK_PROCESS_CPUTIME_ID;

static PLAIN double now(void)
{
    struct timespec t;
    clock_gettime(clock_used, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

__attribute__((noinline)) long tiny(long x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

#ifdef MPI
static PLAIN void exchange(long calls)
{
    int rank;
    double x = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (long i = 0; i < calls; i++) {
        if (!rank) MPI_Send(&x, 1, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
        MPI_Recv(&x, 1, MPI_DOUBLE, !rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank) MPI_Send(&x, 1, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD);
    }
}

/* Buffered sends, since they wait for no receive. */
static PLAIN void to_itself(long calls)
{
    static char buffer[1 << 16];
    int bytes;
    double x = 0;
    MPI_Buffer_attach(buffer, sizeof buffer);
    for (long i = 0; i < calls; i++) {
        MPI_Bsend(&x, 1, MPI_DOUBLE, 0, 7, MPI_COMM_SELF);
        MPI_Recv(&x, 1, MPI_DOUBLE, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    }
    MPI_Buffer_detach(&(void *){buffer}, &bytes);
}
#endif

static PLAIN long work(const char *kind, long calls, int fd, FILE *lines)
{
    char text[65];
    long x = 0;
    memset(text, 'x', sizeof text);
    if (!strcmp(kind, "function"))
        for (long i = 0; i < calls; i++) x = tiny(x);
    if (!strcmp(kind, "write"))
        for (long i = 0; i < calls; i++) x += write(fd, text, 64);
    if (!strcmp(kind, "fgets"))
        for (long i = 0; i < calls; i++) {
            if (i % 1024 == 0) rewind(lines);
            x += fgets(text, sizeof text, lines) != NULL;
        }
    if (!strcmp(kind, "malloc"))
        for (long i = 0; i < calls; i++) {
            volatile char *p = malloc(16 + (size_t)(i & 63) * 16);
            p[0] = 1;
            free((void *)p);
        }
#ifdef MPI
    if (!strcmp(kind, "exchange")) exchange(calls);
    if (!strcmp(kind, "self")) to_itself(calls);
#endif
    return x;
}

PLAIN int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "function";
    if (!strcmp(kind, "exchange")) clock_used = CLOCK_MONOTONIC;
    long calls = argc > 2 ? atol(argv[2]) : 100000, passes = argc > 3 ? atol(argv[3]) : 1;
    int rank = 0, fd = open("/dev/null", O_WRONLY);
    FILE *lines = tmpfile();
    for (int i = 0; i < 1024; i++) fprintf(lines, "%063d\n", i);
#ifdef MPI
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
    for (long p = 0; p < passes; p++) {
        double begin = now();
        if (work(kind, calls, fd, lines) < 0) return 1;
        if (!rank) printf("%.3f\n", (now() - begin) / (double)calls);
    }
#ifdef MPI
    MPI_Finalize();
#endif
    return 0;
}
