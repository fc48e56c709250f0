/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the functions of libotf2 that register callbacks. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "readback.h"

void *vt_find_setters(const char *path, const char *reader, const char *const *kinds, unsigned n,
                      int32_t (**set)(void *, void *), char *text, size_t size)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) snprintf(text, size, "%s", dlerror());
    for (unsigned i = 0; library && i < n; i++) {
        char name[96];
        snprintf(name, sizeof name, "OTF2_%sCallbacks_Set%.*sCallback", reader, (int)strcspn(kinds[i], ":"), kinds[i]);
        *(void **)&set[i] = dlsym(library, name);
    }
    return library;
}
