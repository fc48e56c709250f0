/* SPDX-License-Identifier: BSD-3-Clause */
/* The next definition of a function. A runtime with OMPT reports events itself: libomp's GOMP_ functions are passed on.
   If the program or a library that it needs brings libgomp, the next definition is
   the next one in the global scope. A Python module brings a libgomp of its own, which only that module sees; then the
   next definition depends on the caller. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include "core/sys.h"
#include "ompwrap.h"

#define CALLERS 4096u /* a power of two: entries for callers whose library is not in the global scope */

uintptr_t omp_ompt_library;

static struct {
    _Atomic uintptr_t caller;
    struct omp_function *_Atomic function;
    _Atomic int known;
    struct omp_next behind;
} callers[CALLERS];

uintptr_t omp_library_of(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) ? (uintptr_t)info.dli_fbase : 0;
}

/* Stands for a function that no library defines. */
static long nothing(void) { return 0; }

/* Searches the libraries that the caller's library needs, then any loaded libgomp, then loads libgomp. The last is
   needed if the linker dropped libgomp from the needed libraries, since this shim defines its symbols. */
static void *search(const char *name, const void *caller)
{
    struct link_map *map = NULL;
    Dl_info info;
    void *found = NULL, *own = (void *)omp_library_of((const void *)search);
    if (dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) && map) {
        void *handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
        if (handle) {
            found = dlsym(handle, name);
            dlclose(handle);
        }
    }
    if (!found || omp_library_of(found) == (uintptr_t)own) {
        void *handle = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_GLOBAL);
        found = handle ? dlsym(handle, name) : NULL;
    }
    return found;
}

static const struct omp_next *remember(struct omp_function *f, const void *caller, void *found)
{
    static const struct omp_next none = {(void *)nothing, 0};
    uintptr_t key = (uintptr_t)caller;
    if (!found) {
        vt_warn("no library defines %s: calls of it do nothing", f->name);
        return &none;
    }
    for (uint32_t i = 0, at = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 40); i < CALLERS; i++, at++) {
        uintptr_t free = 0;
        at &= CALLERS - 1;
        if (!atomic_compare_exchange_strong(&callers[at].caller, &free, key)) continue;
        callers[at].behind = (struct omp_next){found, omp_library_of(found)};
        atomic_store(&callers[at].function, f);
        atomic_store(&callers[at].known, 1);
        return &callers[at].behind;
    }
    static _Thread_local struct omp_next other;
    other = (struct omp_next){found, omp_library_of(found)};
    return &other;
}

static const struct omp_next *known(struct omp_function *f, const void *caller)
{
    uintptr_t key = (uintptr_t)caller;
    for (uint32_t i = 0, at = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 40); i < CALLERS; i++, at++) {
        at &= CALLERS - 1;
        uintptr_t there = atomic_load(&callers[at].caller);
        if (!there) return NULL;
        if (there == key && atomic_load(&callers[at].known) && atomic_load(&callers[at].function) == f)
            return &callers[at].behind;
    }
    return NULL;
}

/* Starts the runtime whose function is about to be called: libomp takes OMPT's tool when it starts, and only then is
   omp_ompt_library known. */
static void start(uintptr_t library)
{
    static _Atomic uintptr_t started;
    void *has_ompt = VT_OWN_WORK(dlsym(RTLD_NEXT, "ompt_start_tool"));
    void *any = VT_OWN_WORK(dlsym(RTLD_NEXT, "omp_get_max_threads"));
    if (atomic_exchange(&started, library) == library || !has_ompt || !any) return;
    if (omp_library_of(has_ompt) == library && omp_library_of(any) == library) ((int (*)(void))any)();
}

const struct omp_next *omp_find(struct omp_function *f, const void *caller)
{
    const struct omp_next *b = known(f, caller);
    if (b) return b;
    const struct vt_own_work work = vt_own_work_begin();
    void *next = dlsym(RTLD_NEXT, f->name);
    vt_own_work_end(&work);
    if (next) {
        f->behind = (struct omp_next){next, omp_library_of(next)};
        start(f->behind.library);
        atomic_store_explicit(&f->known, 1, memory_order_release);
        b = &f->behind;
    } else b = remember(f, caller, VT_OWN_WORK(search(f->name, caller)));
    return b;
}
