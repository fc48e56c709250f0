/* SPDX-License-Identifier: BSD-3-Clause */
/* sampled_altstack BYTES MS: computes for MS ms of CPU time; samples are taken on an alternate stack of BYTES above a
   page that no code may access. */
#include "program.h"

#define PAGE 4096u

int main(int argc, char **argv)
{
    const size_t bytes = argc > 2 ? (size_t)atol(argv[1]) : 8192;
    const long ms = argc > 2 ? atol(argv[2]) : 100;
    const size_t room = (bytes + PAGE - 1) / PAGE * PAGE;
    char *memory = mmap(0, PAGE + room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, PAGE, PROT_NONE)) return 1;
    stack_t stack = {.ss_sp = memory + PAGE, .ss_size = bytes};
    if (sigaltstack(&stack, 0)) return 1;
    volatile double sum = 0;
    const clock_t begin = clock(); /* the time of the process before exec counts, too */
    do
        for (int i = 0; i < 100000; i++) sum += i;
    while (clock() - begin < ms * (CLOCKS_PER_SEC / 1000));
    puts("done");
    return 0;
}
