/* SPDX-License-Identifier: BSD-3-Clause */
/* removes CALLS COMMAND: main 1 -> work CALLS, runs the command in a shell that is not traced, and work CALLS again. */
#include "program.h"

static volatile long sink;

KEEP void work(long i) { sink += i; }

int main(int argc, char **argv)
{
    char command[256];
    if (argc != 3) return 2;
    snprintf(command, sizeof command, "env -u LD_PRELOAD -u VTRACE_PARENT %s", argv[2]);
    for (int twice = 0; twice < 2; twice++) {
        for (long i = 0; i < atol(argv[1]); i++) work(i);
        if (!twice && system(command)) return 3;
    }
    return 7;
}
