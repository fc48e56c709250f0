/* SPDX-License-Identifier: BSD-3-Clause */
/* closes CALLS: main 1 -> work CALLS; half way, main closes all its descriptors. Exit code 0. */
#include "program.h"

static volatile long sink;

KEEP void work(long i) { sink += i; }

int main(int argc, char **argv)
{
    long calls = argc > 1 ? atol(argv[1]) : 10;
    for (long i = 0; i < calls; i++) {
        if (i == calls / 2)
            for (int fd = 0; fd < 1024; fd++) close(fd);
        work(i);
    }
    return 0;
}
