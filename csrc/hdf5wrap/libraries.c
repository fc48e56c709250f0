/* SPDX-License-Identifier: BSD-3-Clause */
/* The libraries of HDF5 in the process, and the next definition of each function. A library that a Python module brings
   is not in the global scope, so that RTLD_NEXT does not find it: the caller decides. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include "hdf5wrap.h"

#define CALLERS 8192u /* a power of two */
#define LIBRARIES 8u

extern struct vt_h5_function __start_vt_h5_functions[], __stop_vt_h5_functions[];

static struct vt_h5_library libraries[LIBRARIES];
static struct {
    _Atomic(uintptr_t) caller;
    _Atomic(uintptr_t) library; /* its place + 1, and INSIDE; 0: not known yet */
} callers[CALLERS];
#define INSIDE ((uintptr_t)1 << 32) /* the caller is the library itself */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* only at the first call of a function or from a place */

unsigned vt_h5_number(const struct vt_h5_library *library) { return (unsigned)(library - libraries); }

/* ---- Whether calls are recorded ---- */

enum { NEW, RECORD, OFF };
static _Atomic(int) state;

/* The caller holds the lock. */
static void attach(void)
{
    static const struct vt_shim shim = {
        .size = sizeof shim, .abi = VT_ABI, .kind = VT_SHIM_IO, .name = "HDF5", .version = VT_VERSION};
    const int on = vt_has_ended() ? 0 : vt_attach(&shim);
    if (on >= 0) atomic_store(&state, on ? RECORD : OFF);
}

/* Defines the region of a function. Returns 0 if the call is not recorded. */
static __attribute__((noinline, cold)) uint32_t first_call(struct vt_h5_function *f)
{
    if (atomic_load(&f->hidden)) return 0;
    if (atomic_load(&state) == NEW) {
        pthread_mutex_lock(&lock);
        if (atomic_load(&state) == NEW) attach();
        pthread_mutex_unlock(&lock);
    }
    if (atomic_load(&state) != RECORD) return 0;
    uint32_t *counted = NULL, expected = 0;
    if (vt_take_call(f->name, "HDF5", &counted) == VT_CALL_HIDDEN) {
        atomic_store(&f->hidden, true);
        return 0;
    }
    if (counted && *counted) return *counted;
    const uint32_t region = vt_define_region(f->name, VT_PARADIGM_NONE, f->role, NULL, 0);
    if (counted) return *counted = region; /* the filter counts the calls, so the next call asks again */
    return atomic_compare_exchange_strong(&f->region, &expected, region) ? region : expected;
}

/* ---- Libraries ---- */

/* Stands for a function that no library defines. */
static long missing(void) { return -1; }

static uintptr_t base_of(const void *address, const char **file)
{
    Dl_info info;
    if (!address || !dladdr(address, &info)) return 0;
    if (file) *file = info.dli_fname;
    return (uintptr_t)info.dli_fbase;
}

/* H5open as the caller sees it; NULL: none. */
static void *first_function(const void *caller)
{
    struct link_map *map = NULL;
    Dl_info info;
    void *found = NULL;
    if (dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) && map && *map->l_name) {
        void *module = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
        if (module) {
            found = dlsym(module, "H5open");
            dlclose(module);
        }
    }
    if (!found || base_of(found, NULL) == base_of((void *)first_function, NULL)) found = dlsym(RTLD_NEXT, "H5open");
    return found;
}

static void *function_of(const struct vt_h5_library *l, const char *name)
{
    return l->module ? dlsym(l->module, name) : dlsym(RTLD_NEXT, name);
}

static void ask(struct vt_h5_library *l)
{
    int (*version_of)(unsigned *, unsigned *, unsigned *) = function_of(l, "H5get_libversion");
    unsigned major = 0, minor = 0, release;
    if (version_of) version_of(&major, &minor, &release);
    l->type_of = function_of(l, "H5Iget_type");
    l->is_valid = function_of(l, "H5Iis_valid");
    l->name_of = function_of(l, "H5Iget_name");
    l->file_of = function_of(l, "H5Iget_file_id");
    l->drop = function_of(l, "H5Idec_ref");
    l->file_name_of = function_of(l, "H5Fget_name");
    l->space_of = function_of(l, "H5Dget_space");
    l->points_of = function_of(l, "H5Sget_select_npoints");
    l->size_of = function_of(l, "H5Tget_size");
    l->chunk_bytes_of = function_of(l, "H5Dget_chunk_storage_size");
    l->records = (major > 1 || minor >= 10) && l->type_of && l->is_valid && l->name_of && l->file_of && l->drop &&
                 l->file_name_of && l->space_of && l->points_of && l->size_of;
    if (!l->records) vt_warn_left_out("io", "HDF5 %u.%u is older than 1.10: its calls are not recorded", major, minor);
}

/* The caller holds the lock. NULL: HDF5 is not there, or there are too many libraries. */
static struct vt_h5_library *library_at(const void *function)
{
    const char *file = "";
    const uintptr_t base = base_of(function, &file);
    for (struct vt_h5_library *l = libraries; base && l < libraries + LIBRARIES; l++) {
        if (atomic_load(&l->base) == base) return l;
        if (atomic_load(&l->base)) continue;
        const char *name = strrchr(file, '/');
        l->is_apart = strstr(name ? name : file, "hdf5") != NULL;
        l->module = dlopen(file, RTLD_LAZY | RTLD_NOLOAD); /* stays open: the shim keeps addresses */
        ask(l);
        atomic_store(&l->base, base);
        return l;
    }
    return NULL;
}

static __attribute__((noinline, cold)) uintptr_t meet(const void *caller)
{
    const struct vt_own_work work = vt_own_work_begin();
    pthread_mutex_lock(&lock);
    struct vt_h5_library *l = library_at(first_function(caller));
    uintptr_t known = 0;
    if (l) known = vt_h5_number(l) + 1;
    if (l && l->is_apart && base_of(caller, NULL) == atomic_load(&l->base)) known |= INSIDE;
    for (uint32_t i = 0; l && i < 16; i++) {
        const uint32_t place = ((uint32_t)((uintptr_t)caller * 0x9e3779b97f4a7c15u >> 40) + i) % CALLERS;
        if (atomic_load(&callers[place].caller)) continue;
        atomic_store(&callers[place].library, known);
        atomic_store(&callers[place].caller, (uintptr_t)caller);
        break;
    }
    pthread_mutex_unlock(&lock);
    vt_own_work_end(&work);
    return known;
}

static inline uintptr_t known_library(const void *caller)
{
    for (uint32_t i = 0; i < 16; i++) {
        const uint32_t place = ((uint32_t)((uintptr_t)caller * 0x9e3779b97f4a7c15u >> 40) + i) % CALLERS;
        const uintptr_t there = atomic_load_explicit(&callers[place].caller, memory_order_acquire);
        if (there == (uintptr_t)caller) return atomic_load_explicit(&callers[place].library, memory_order_relaxed);
        if (!there) break;
    }
    return meet(caller);
}

static __attribute__((noinline, cold)) void *find_next(struct vt_h5_library *l, const struct vt_h5_function *f)
{
    void *found = VT_OWN_WORK(function_of(l, f->name));
    if (!found) found = (void *)missing;
    atomic_store(&l->next[f - __start_vt_h5_functions], found);
    return found;
}

struct vt_h5_call vt_h5_begin(struct vt_h5_function *f, const void *caller)
{
    const uintptr_t known = known_library(caller);
    struct vt_h5_call call = {(void *)missing, NULL, 0};
    if (VT_UNLIKELY(!known)) return call;
    struct vt_h5_library *l = call.library = &libraries[(known & ~INSIDE) - 1];
    void *next = atomic_load_explicit(&l->next[f - __start_vt_h5_functions], memory_order_acquire);
    call.next = VT_LIKELY(next) ? next : find_next(l, f);
    if (VT_UNLIKELY(known & INSIDE || !l->records) || atomic_load_explicit(&state, memory_order_acquire) == OFF ||
        vt_suppressed)
        return call;
    const uint32_t region = atomic_load_explicit(&f->region, memory_order_acquire);
    call.region = VT_LIKELY(region) ? region : first_call(f);
    return call;
}

__attribute__((constructor)) static void check(void)
{
    if (__stop_vt_h5_functions - __start_vt_h5_functions > (long)VT_H5_FUNCTIONS) atomic_store(&state, OFF);
}
