/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls step TURNS times, which calls tiny functions; every EVERY-th one sleeps, too. MIDDLES: calls of middle in it.
     function    the iterations are calls of step
     user        they are the user region "turn" around it
     threads     3 threads call step
     forks       3 children call step
     nested      step calls itself
     jump        each third step is left by longjmp
     forever     step, until the program is killed; counts its calls in the file "counts" */
#include <setjmp.h>
#include <string.h>
#include "repeated.h"
#include "vt_user.h"

#define KEPT __attribute__((noinline, noclone))

static volatile long sum;
static long turns, every, middles = 4;
static int nests, jumps;
static volatile unsigned long *counts; /* of tiny, middle, step */
static unsigned long unseen[3];
static __thread jmp_buf back;

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

KEPT void step(long number, int inner)
{
    counts[2]++;
    for (long i = 0; i < middles; i++) middle();
    if (every && number % every == 0) usleep(20000);
    if (nests && !inner) step(number, 1);
    if (jumps && number % 3 == 0) longjmp(back, 1);
    sum++;
}

KEPT void between(void) { sum++; }

KEPT void *repeat(void *unused)
{
    for (volatile long i = 1; i <= turns; i++) {
        VT_USER_START("turn");
        if (!setjmp(back)) step(i, 0);
        VT_USER_END("turn");
        between();
    }
    return unused;
}

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    const char *how = argv[1];
    turns = atol(argv[2]);
    every = atol(argv[3]);
    counts = unseen;
    nests = !strcmp(how, "nested");
    jumps = !strcmp(how, "jump");
    if (argc > 4) middles = atol(argv[4]);
    if (!strcmp(how, "forever")) counts = shared_counts();
    if (!strcmp(how, "threads")) in_threads();
    else if (!strcmp(how, "forks")) in_children();
    else do
            repeat(NULL);
        while (!strcmp(how, "forever"));
    return 0;
}
