/* SPDX-License-Identifier: BSD-3-Clause */
/* ring_omp ROUNDS: main 1 -> ROUNDS parallel loops -> work 8. */
#include "program.h"

static volatile long sink;

KEEP void work(void) { sink = 1; }

int main(int argc, char **argv)
{
    for (long round = 0; round < atol(argv[argc - 1]); round++) {
#pragma omp parallel for
        for (int i = 0; i < 8; i++) work();
    }
    return 0;
}
