/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds CUPTI: the one that the process has already, since two in a process disturb each other; then the one beside
   CUDA's runtime library, as packages of Python and CUDA's installation place it; then by the loader; then in CUDA's
   directory. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cudawrap.h"

struct vt_cupti vt_cupti;

static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so"};

struct mapped {
    char cupti[PATH_MAX], runtime[PATH_MAX]; /* a file, and the directory of a file; "": none */
};

static int look(struct dl_phdr_info *library, size_t bytes, void *into)
{
    struct mapped *found = into;
    const char *slash = library->dlpi_name ? strrchr(library->dlpi_name, '/') : NULL;
    (void)bytes;
    if (!slash) return 0;
    const int length = (int)(slash - library->dlpi_name);
    if (!strncmp(slash, "/libcupti.so", 12)) snprintf(found->cupti, sizeof found->cupti, "%s", library->dlpi_name);
    if (!strncmp(slash, "/libcudart.so", 13))
        snprintf(found->runtime, sizeof found->runtime, "%.*s", length, library->dlpi_name);
    return 0;
}

/* Opens CUPTI in a directory below another one; above NULL: where the loader looks. */
static void *open_in(const char *above, const char *below)
{
    char path[PATH_MAX];
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++) {
        const int used = above ? snprintf(path, sizeof path, "%s/%s%s", above, below, names[i])
                               : snprintf(path, sizeof path, "%s", names[i]);
        if (used < (int)sizeof path) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

static void *find(void)
{
    static const char *const beside_runtime[] = {"", "../../cuda_cupti/lib/", "../extras/CUPTI/lib64/"};
    static const char *const in_cuda[] = {"extras/CUPTI/lib64/", "lib64/"};
    static const char *const homes[] = {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"};
    static struct mapped found;
    dl_iterate_phdr(look, &found);
    void *library = *found.cupti ? dlopen(found.cupti, RTLD_NOW | RTLD_LOCAL) : NULL;
    for (size_t i = 0; i < 3 && !library && *found.runtime; i++) library = open_in(found.runtime, beside_runtime[i]);
    if (!library) library = open_in(NULL, NULL);
    for (size_t home = 0; home < 4 && !library; home++) {
        const char *above = home < 3 ? getenv(homes[home]) : "/usr/local/cuda";
        for (size_t i = 0; i < 2 && !library && above && *above; i++) library = open_in(above, in_cuda[i]);
    }
    return library;
}

const char *vt_cuda_load(void)
{
    static char text[96];
    void *library = find();
    if (!library) return "libcupti.so is not found; load the module of CUDA, or set CUDA_HOME";
#define VT_CUPTI_LOAD(name, type, parameters)                                                                          \
    if (!(vt_cupti.name = (type(*) parameters)dlsym(library, #name))) {                                                \
        snprintf(text, sizeof text, "CUPTI has no function %s", #name);                                                \
        return text;                                                                                                   \
    }
    VT_CUPTI_FUNCTIONS(VT_CUPTI_LOAD)
    return NULL;
}
