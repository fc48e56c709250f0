/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a library three times, and one that does not exist. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    for (int i = 0; i < 3; i++) dlopen("libm.so.6", RTLD_NOW);
    dlopen("libnothing.so", RTLD_NOW);
    free(malloc(10));
    puts("done");
    return 0;
}
