/* SPDX-License-Identifier: BSD-3-Clause */
/* loads [leak]: opens a library three times, and one that does not exist; loses a block if asked. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    (void)argv;
    for (int i = 0; i < 3; i++) dlopen("libm.so.6", RTLD_NOW);
    dlopen("libnothing.so", RTLD_NOW);
    free(malloc(10));
    if (argc > 1) printf("%d\n", malloc(77) != NULL);
    puts("done");
    return 0;
}
