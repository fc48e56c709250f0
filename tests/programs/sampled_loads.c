/* SPDX-License-Identifier: BSD-3-Clause */
/* sampled_loads LIBRARY FUNCTION ...: loads each library, calls its function for 0.4 s of CPU time, and unloads it. */
#include "program.h"

__attribute__((noinline)) void use(int (*work)(int))
{
    clock_t end = clock() + 2 * CLOCKS_PER_SEC / 5;
    while (clock() < end) work(1000000);
}

int main(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        void *library = dlopen(argv[i], RTLD_NOW);
        int (*work)(int);
        if (!library) return 1;
        *(void **)&work = dlsym(library, argv[i + 1]);
        use(work);
        dlclose(library);
    }
    return 0;
}
