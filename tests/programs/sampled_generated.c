// SPDX-License-Identifier: BSD-3-Clause
/* sampled_generated SECONDS: code that the program makes while it runs, without unwind information but with frame
   pointers: main -> use -> generated code, for that CPU time. */
#define _GNU_SOURCE
#include "program.h"

/* push rbp; mov rbp, rsp; mov rax, rdi; 1: dec rax; jnz 1b; pop rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
                                     0x48, 0xff, 0xc8, 0x75, 0xfb, 0x5d, 0xc3};

__attribute__((noinline)) void use(long (*work)(long), double seconds)
{
    clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
    while (clock() < end) work(1000000);
}

int main(int argc, char **argv)
{
    void *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long (*work)(long);
    memcpy(made, code, sizeof code);
    if (mprotect(made, 4096, PROT_READ | PROT_EXEC)) return 1;
    *(void **)&work = made;
    use(work, argc > 1 ? atof(argv[1]) : 0.4);
    return 0;
}
