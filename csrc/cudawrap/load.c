/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds CUPTI: the one that the process has already, since two in a process disturb each other; then the one beside
   CUDA's runtime library, as packages of Python and CUDA's installation place it; then by the loader; then in CUDA's
   directory. Its version is the runtime's, if there is one, and no newer than the driver's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cudawrap.h"

struct vt_cupti vt_cupti;

struct mapped {
    char cupti[PATH_MAX], runtime[PATH_MAX]; /* a file, and the directory of a file; "": none */
    unsigned major; /* of the runtime library; 0: unknown */
};

static int look(struct dl_phdr_info *library, size_t bytes, void *into)
{
    struct mapped *found = into;
    const char *slash = library->dlpi_name ? strrchr(library->dlpi_name, '/') : NULL;
    (void)bytes;
    if (!slash) return 0;
    if (!strncmp(slash, "/libcupti.so", 12)) snprintf(found->cupti, sizeof found->cupti, "%s", library->dlpi_name);
    if (strncmp(slash, "/libcudart.so", 13) != 0) return 0;
    snprintf(found->runtime, sizeof found->runtime, "%.*s", (int)(slash - library->dlpi_name), library->dlpi_name);
    if (slash[13] == '.') found->major = (unsigned)strtoul(slash + 14, NULL, 10);
    return 0;
}

/* The newest CUDA that the driver knows; without an answer any. */
static unsigned driver_major(void)
{
    int version = 0;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    int (*ask)(int *) = driver ? (int (*)(int *))dlsym(driver, "cuDriverGetVersion") : NULL;
    return ask && !ask(&version) && version > 0 ? (unsigned)version / 1000 : UINT_MAX;
}

/* The versions of CUPTI to look for: from `least` to `most`. */
struct versions {
    unsigned least, most;
};

/* Opens CUPTI in a directory below another one; above NULL: where the loader looks. */
static void *open_in(const char *above, const char *below, struct versions v)
{
    static const struct {
        const char *name;
        unsigned major;
    } files[] = {{"libcupti.so.13", 13}, {"libcupti.so.12", 12}, {"libcupti.so.11.8", 11}};
    char path[PATH_MAX];
    void *library = NULL;
    for (size_t i = 0; i < sizeof files / sizeof *files && !library; i++) {
        if (files[i].major < v.least || files[i].major > v.most) continue;
        const int used = above ? snprintf(path, sizeof path, "%s/%s%s", above, below, files[i].name)
                               : snprintf(path, sizeof path, "%s", files[i].name);
        if (used < (int)sizeof path) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

static void *open_of(const char *runtime, struct versions v)
{
    static const char *const beside_runtime[] = {"", "../../cuda_cupti/lib/", "../extras/CUPTI/lib64/"};
    static const char *const in_cuda[] = {"extras/CUPTI/lib64/", "lib64/"};
    static const char *const homes[] = {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"};
    void *library = NULL;
    for (size_t i = 0; i < 3 && !library && *runtime; i++) library = open_in(runtime, beside_runtime[i], v);
    if (!library) library = open_in(NULL, NULL, v);
    for (size_t home = 0; home < 4 && !library; home++) {
        const char *above = home < 3 ? getenv(homes[home]) : "/usr/local/cuda";
        for (size_t i = 0; i < 2 && !library && above && *above; i++) library = open_in(above, in_cuda[i], v);
    }
    return library;
}

static void *find(void)
{
    static struct mapped found;
    dl_iterate_phdr(look, &found);
    void *library = *found.cupti ? dlopen(found.cupti, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library && found.major) library = open_of(found.runtime, (struct versions){found.major, found.major});
    return library ? library : open_of(found.runtime, (struct versions){0, driver_major()});
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
