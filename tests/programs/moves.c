/* SPDX-License-Identifier: BSD-3-Clause */
/* moves DIRECTORY [early]: changes its working directory, then work 20 (early: before any traced function ran). */
#include "program.h"

static volatile int sink;

KEEP void work(int i) { sink += i; }

KEEP int run(const char *directory)
{
    int failed = directory && chdir(directory);
    for (int i = 0; i < 20; i++) work(i);
    return failed;
}

QUIET int main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[2], "early")) return chdir(argv[1]) || run(0);
    return run(argv[1]);
}
