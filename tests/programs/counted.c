/* SPDX-License-Identifier: BSD-3-Clause */
/* counted HOW N: main 1 -> turn N -> leaf 10, fall -> fall -> fall -> leaf 1. HOW:
     end.   deep: main -> fall N levels -> leaf.   paths: 2^N paths of left and right, each called once.
     fails: an exec that fails in the innermost fall of each turn, and SIGKILL at the end.
     flush: VT_BUFFER_FLUSH after each 1000th turn.   switch: VT_OFF and VT_ON around each second turn.
     signal: SIGUSR1 after the turns, another turn, SIGKILL.
     forever: turns without end; the file N has the number of calls of leaf that have begun. */
#include "vt_user.h"
#include "program.h"

static volatile long leaves, *told = &leaves;
static int fails;

KEEP void leaf(void) { *told = *told + 1; }

KEEP void fall(long depth)
{
    if (depth > 1) fall(depth - 1);
    else leaf();
    if (depth == 1 && fails) execl("/nowhere", "nowhere", NULL);
}

KEEP void turn(void)
{
    for (int i = 0; i < 10; i++) leaf();
    fall(3);
}

KEEP void right(long depth, long bits);
KEEP void left(long depth, long bits)
{
    if (depth) (bits & 1 ? left : right)(depth - 1, bits >> 1);
}
KEEP void right(long depth, long bits)
{
    if (depth) (bits & 1 ? left : right)(depth - 1, bits >> 1);
}

static QUIET void turns(const char *how, long n)
{
    fails = !strcmp(how, "fails");
    for (long i = 0; i < n; i++) {
        const int off = !strcmp(how, "switch") && i % 2;
        if (off) VT_OFF();
        turn();
        if (off) VT_ON();
        if (!strcmp(how, "flush") && i % 1000 == 999) VT_BUFFER_FLUSH();
    }
}

static QUIET void forever(const char *file)
{
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED, open(file, O_RDWR), 0);
    for (;;) turn();
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    const char *how = argv[1];
    const long n = atol(argv[2]);
    if (!strcmp(how, "deep")) fall(n);
    else if (!strcmp(how, "forever")) forever(argv[2]);
    else if (!strcmp(how, "paths"))
        for (long i = 0; i < 1L << n; i++) left(n, i);
    else turns(how, n);
    if (!strcmp(how, "signal")) {
        raise(SIGUSR1);
        turn();
    }
    if (!strcmp(how, "signal") || fails) raise(SIGKILL);
    return 0;
}
