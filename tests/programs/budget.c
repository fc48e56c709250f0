/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls tiny functions often, in one of several ways; TURNS times:
     nested      turn calls 4 times middle, which calls 4 times tiny
     recursive   deep(12), which calls itself twice, with tiny at the bottom
     threads     3 threads call turn
     forks       3 children call turn
     exec        calls turn, and becomes this program with "nested"
     memory      turn, which allocates and frees 2 blocks
     io          turn, which writes and reads 2 bytes of a file
     forever     turn, until it is killed; counts its calls in the file "counts" */
#include <string.h>
#include "repeated.h"

#define KEPT __attribute__((noinline, noclone))

static volatile long sum;
static long turns;
static volatile unsigned long *counts; /* of tiny, middle */
static unsigned long unseen[2];

KEPT void tiny(void)
{
    counts[0]++;
    sum++;
}

KEPT void middle(void)
{
    counts[1]++;
    for (int i = 0; i < 4; i++) tiny();
    sum++;
}

KEPT void turn(void)
{
    for (int i = 0; i < 4; i++) middle();
    sum++;
}

KEPT void deep(int left)
{
    if (!left) {
        tiny();
        return;
    }
    deep(left - 1);
    deep(left - 1);
    sum++;
}

KEPT void *repeat(void *unused)
{
    for (long i = 0; i < turns; i++) turn();
    return unused;
}

KEPT void allocate(void)
{
    void *a = malloc(100), *b = malloc(200);
    sum += a == b;
    free(b);
    free(a);
}

KEPT void transfer(int file)
{
    char bytes[2] = "a";
    if (pwrite(file, bytes, 2, 0) != 2 || pread(file, bytes, 2, 0) != 2) _exit(1);
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    const char *how = argv[1];
    turns = atol(argv[2]);
    counts = unseen;
    if (!strcmp(how, "forever")) counts = shared_counts();
    if (!strcmp(how, "nested") || !strcmp(how, "exec")) repeat(NULL);
    if (!strcmp(how, "recursive"))
        for (long i = 0; i < turns; i++) deep(12);
    if (!strcmp(how, "threads")) in_threads();
    if (!strcmp(how, "forks")) in_children();
    if (!strcmp(how, "memory"))
        for (long i = 0; i < turns; i++) allocate();
    int file = open("bytes", O_RDWR | O_CREAT, 0600);
    if (!strcmp(how, "io"))
        for (long i = 0; i < turns; i++) transfer(file);
    while (!strcmp(how, "forever")) turn();
    if (!strcmp(how, "exec")) execl(argv[0], argv[0], "nested", argv[2], (char *)NULL);
    return 0;
}
