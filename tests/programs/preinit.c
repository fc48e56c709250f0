/* SPDX-License-Identifier: BSD-3-Clause */
/* preinit: calls early twice from .preinit_array, where libc has no environment yet; it opens a file and allocates
   there. Then main calls work 10 times. */
#include "program.h"

static volatile long sink;
static void *volatile got;

KEEP void early(long i)
{
    sink = i;
    got = malloc(100);
    free(got);
    close(open("/dev/null", O_RDONLY));
}

KEEP void before_all(void)
{
    early(1);
    early(2);
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = before_all;

KEEP void work(long i)
{
    sink = i;
    got = malloc(100);
    free(got);
    close(open("/dev/null", O_RDONLY));
}

int main(void)
{
    for (long i = 0; i < 10; i++) work(i);
    return 0;
}
