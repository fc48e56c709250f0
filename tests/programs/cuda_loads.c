/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads CUDA's runtime library (its argument), then the tool, as the driver does, and prints the name of the CUPTI that the
   tool has loaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print(struct dl_phdr_info *library, size_t bytes, void *data)
{
    const char *name = strrchr(library->dlpi_name, '/');
    (void)bytes, (void)data;
    if (name && !strncmp(name, "/libcupti", 9)) puts(name + 1);
    return 0;
}

int main(int argc, char **argv)
{
    void *runtime = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void *tool = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW);
    int (*inject)(void) = tool ? (int (*)(void))dlsym(tool, "InitializeInjection") : NULL;
    if (!runtime || !inject || !inject()) return 1;
    dl_iterate_phdr(print, NULL);
    return 3;
}
