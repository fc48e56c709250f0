/* SPDX-License-Identifier: BSD-3-Clause */
/* A library to preload: from its 50 000th reading on CLOCK_MONOTONIC_RAW is 2 ms slow. The library replaces the code of
   the kernel's function in this process, which vtrace calls by its address. For x86-64. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u

static int read_slow_clock(clockid_t id, struct timespec *t)
{
    static _Atomic long reads;
    long r = syscall(SYS_clock_gettime, id, t);
    if (r || id != CLOCK_MONOTONIC_RAW || atomic_fetch_add(&reads, 1) < 50000) return (int)r;
    t->tv_nsec -= 2000000;
    if (t->tv_nsec < 0) {
        t->tv_nsec += 1000000000;
        t->tv_sec--;
    }
    return 0;
}

__attribute__((constructor)) static void replace_clock(void)
{
    unsigned char jump[12] = {0x48, 0xb8, [10] = 0xff, 0xe0}; /* movabs $read_slow_clock, %rax; jmp *%rax */
    void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
    char *code = vdso ? dlsym(vdso, "__vdso_clock_gettime") : NULL;
    uintptr_t page = (uintptr_t)code & ~(uintptr_t)(PAGE - 1), slow = (uintptr_t)read_slow_clock;
    memcpy(jump + 2, &slow, sizeof slow);
    if (!code || mprotect((void *)page, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC)) perror("no code of the clock");
    else memcpy(code, jump, sizeof jump);
}
