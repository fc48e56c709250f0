/* SPDX-License-Identifier: BSD-3-Clause */
/* For libraries to preload: replaces the kernel's function for clocks in the memory of this process. vtrace, glibc and
   MPI call this function by its address, past any preloaded clock_gettime. For x86-64. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static void replace_clock(int (*by)(clockid_t id, struct timespec *t))
{
    const uintptr_t page_bytes = 4096, address = (uintptr_t)by;
    unsigned char jump[12] = {0x48, 0xb8, [10] = 0xff, 0xe0}; /* movabs $address, %rax; jmp *%rax */
    void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
    char *code = vdso ? (char *)dlsym(vdso, "__vdso_clock_gettime") : NULL;
    void *page = (void *)((uintptr_t)code & ~(page_bytes - 1));
    memcpy(jump + 2, &address, sizeof address);
    if (!code || mprotect(page, 2 * page_bytes, PROT_READ | PROT_WRITE | PROT_EXEC)) perror("no code of the clock");
    else memcpy(code, jump, sizeof jump);
}
