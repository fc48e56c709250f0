/* SPDX-License-Identifier: BSD-3-Clause */
/* longjmp over three frames. main 1 -> (catcher 1 -> deep1 -> deep2 -> deep3, after 1), 4 times. */
#include <setjmp.h>
#include "keep.h"

static jmp_buf back;
static volatile int sink;

KEEP void deep3(void)
{
    sink++;
    longjmp(back, 1);
}

KEEP void deep2(void)
{
    deep3();
    sink++;
}

KEEP void deep1(void)
{
    deep2();
    sink++;
}

KEEP void catcher(void)
{
    if (!setjmp(back)) deep1();
}

KEEP void after(void) { sink++; }

int main(void)
{
    for (int i = 0; i < 4; i++) {
        catcher();
        after();
    }
    return 0;
}
