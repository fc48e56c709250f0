/* SPDX-License-Identifier: BSD-3-Clause */
/* loader LIBRARY...: loads each library in turn, calls its entry 3 times, unloads it, calls between.
   main 1 -> (entry 3, between 1) per library. */
#include "program.h"

static volatile int sink;

KEEP void between(void) { sink++; }

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        void (*entry)(int);
        *(void **)&entry = dlsym(library, "entry");
        for (int k = 0; k < 3; k++) entry(k);
        dlclose(library);
        between();
    }
    return 0;
}
