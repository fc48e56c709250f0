/* SPDX-License-Identifier: BSD-3-Clause */
/* many CALLS [EXITCODE [PIPE]]: main 1 -> work CALLS. Prints "done CALLS", after another process has opened the named
   PIPE to write. */
#include "program.h"

static volatile long sink;

KEEP void work(long i) { sink += i; }

int main(int argc, char **argv)
{
    long calls = argc > 1 ? atol(argv[1]) : 10;
    for (long i = 0; i < calls; i++) work(i);
    if (argc > 3) close(open(argv[3], O_RDONLY));
    printf("done %ld\n", calls);
    return argc > 2 ? atoi(argv[2]) : 0;
}
